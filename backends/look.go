package backends

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Looker is a store that cannot show a letter without taking it for a while, and
// counts that. So it is looked at once for everybody, in the background, and
// Scan, Depth and Now answer from what was seen.
type Looker interface {
	// Look sees to it that a look at the queue was made or is being made, and says
	// how far it has come. anew begins another one, unless one is under way. It
	// waits until the look has ended or ctx has; the end of ctx is no error here,
	// and does not end the look.
	Look(ctx context.Context, queue string, anew bool) (Look, error)
}

// Look is how far the looking at one queue has come.
type Look struct {
	AsOf    time.Time // when the newest look that came to its end began, zero: none did
	Running bool      // one is under way
	Seen    int       // different letters that it has seen, or the last one saw
	Total   int       // how many there are by the store's own count, which is about right; -1: not known
	Notes   []string  // sentences: why not all was seen, what else takes letters
}

// ErrLooking means that another look at the same place is under way.
var ErrLooking = errors.New("another look is under way")

// Snapshots keep letters as they were seen, for all processes of one state
// folder. They are no truth to rely on: they may be thrown away at any time, and
// what is sent is compared with what the store holds then. A place is
// Target.Letters().
type Snapshots interface {
	// Begin begins a look. It is ErrLooking while another one is under way, in
	// whatever process; one whose process died is over.
	Begin(ctx context.Context, place string) (Pass, error)
	// Look is how far the newest look of the place has come. Its Notes say so where
	// it is over and did not come to its end.
	Look(ctx context.Context, place string) (Look, error)
	// Letters yields letters with the greatest Order first, then by id. A letter
	// that a whole look did not see is not among them. A letter is borrowed until the next one is asked for.
	Letters(ctx context.Context, place string, q SnapshotQuery) iter.Seq2[*Snapshot, error]
	// Received adds to the Looks of letters that were taken and given back
	// otherwise than by a look. Those of a letter that no look has seen yet count
	// when one does.
	Received(ctx context.Context, place string, ids ...string) error
	// Drop forgets letters that are surely gone.
	Drop(ctx context.Context, place string, ids ...string) error
}

// Pass is a look under way. It holds a lock until Close.
type Pass interface {
	// Put keeps letters as they were seen now. It adds one to the Looks of each.
	Put(ctx context.Context, letters ...Snapshot) error
	// Progress says how many letters there are, for those who ask meanwhile.
	Progress(ctx context.Context, total int) error
	// End ends the look. whole says that it saw all there was, so that a letter it
	// did not see is there no more. It also removes letters whose time is over; an
	// error in that does not make the look one that did not come to its end.
	End(ctx context.Context, whole bool, notes ...string) error
	// Close ends the look as one that did not come to its end, unless End was called.
	Close() error
}

// Snapshot is one letter as it was received.
type Snapshot struct {
	ID    string // any bytes, not empty
	Order int64  // by which letters are listed, the greatest first: a time of the store
	Facts []byte // all but the body, in the store's own encoding
	Body  []byte // nil when it was not asked for
	Size  int    // of the body in bytes
	// Looks is how often we received it, this time included. Put ignores it.
	Looks int
	// First and Last are when it was first and last seen. Put ignores them.
	First, Last time.Time
}

// SnapshotQuery selects snapshots of one place.
type SnapshotQuery struct {
	IDs    []string // only these; nil: all
	After  string   // go on behind the letter of this id and Order; "" from the start
	Order  int64
	AsOf   time.Time // only letters that were first seen up to then; zero: all
	Bodies bool
}
