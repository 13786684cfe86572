package backends

import (
	"context"
	"iter"
	"slices"
	"time"
)

// Store is one connection to one store of dead letters. Queues are named as in
// the policy. Its methods may be called by several goroutines at once. Errors
// are *Error where an agent or a person can act on them.
type Store interface {
	// Can states facts about a queue. It neither connects nor fails.
	Can(queue string) Can
	// Target is the identity of what the store is really connected to.
	Target(ctx context.Context, queue string) (Target, error)
	// Now is the store's own clock: the as_of of a listing.
	Now(ctx context.Context, queue string) (time.Time, error)
	// Depth counts at most Can.CountCap letters.
	Depth(ctx context.Context, queue string) (Depth, error)
	// Scan yields letters newest death first, in an order in which a later
	// scan can go on. A letter is borrowed until the next one is asked for.
	// The sequence ends after the first error.
	Scan(ctx context.Context, q Query) iter.Seq2[*DeadLetter, error]
	// Redrive sends the items of an order, guarded by their whole Refs, and
	// gives each exactly one final Outcome unless it returns an error. Items
	// that were never intended when it returns an error were not touched.
	Redrive(ctx context.Context, o Order, j Journal) error
	// Resolve asks the store what became of items that were intended when an
	// executor stopped. It may remove a dead copy of what was surely sent. It
	// never sends. It records Claimed where it proves that nothing was sent.
	Resolve(ctx context.Context, queue string, doubts []Doubt, j Journal) error
	Close() error
}

// Checker is a store that can check its mapping and its privileges against the
// live connection, for an operator who asks.
type Checker interface {
	// CheckUp answers warnings, and an error for what would make a redrive fail.
	CheckUp(ctx context.Context, queue string) ([]string, error)
}

// Lagging is a store that may read a copy of its letters.
type Lagging interface {
	// Lag is how far what is read may be behind the letters themselves; negative
	// where nobody can tell.
	Lag(ctx context.Context, queue string) (time.Duration, error)
}

// Can are the facts about a store that callers branch on.
type Can struct {
	Random       bool // single letters can be fetched by id
	Atomic       bool // the send and the removal of the dead copy are one step
	Ordered      bool // "up to now" can be asked: what comes later can be told from what was there
	Dated        bool // letters have a time of death
	LookingCosts bool // looking changes the letter (a receive count)
	Reasons      bool // letters have a reason; without one the payload's shape tells groups apart
	Batch        int  // the largest number of items that one ticket covers
	CountCap     int  // Depth counts no further
	// Effect says in a sentence what a redrive does to a letter in this store;
	// it is part of every plan.
	Effect string
	// Where says where the store keeps each of the five facts, for a runbook.
	Where []Place
	// Warnings are sentences for the operator: a missing index, no receipts …
	Warnings []string
}

// Place is where a store keeps a fact: {"reason", "column last_error"}.
type Place struct{ Fact, Where string }

// Target is the identity of the letters that a queue of the policy leads to.
type Target struct {
	// Store, Place and Selector together name the physical queue, the same
	// through every spelling of the connection: for a job table the database
	// system, the table, and the queue name within the table.
	Store    string
	Place    string
	Selector string
	// Split is what tells the queues of one place apart, such as a column; empty
	// where the whole place is one queue.
	Split string
	// Holds are the places whose letters are letters of this place too: the tables
	// under a view, the partitions of a table.
	Holds []string
	// Via is how it is reached: host, port, user. It is part of a plan, not of
	// the physical identity.
	Via string
}

// Letters names the place whose ids are unique: a message is (Letters, id).
func (t Target) Letters() string { return t.Store + "/" + t.Place }

// Physical names the physical queue, on which limits are counted.
func (t Target) Physical() string { return t.Letters() + "#" + t.Selector }

// Overlaps reports whether two queues may have letters in common: they are in
// one place, and nothing there tells them apart, or one place holds some of the
// other's. By the ids alone that could not be seen: a view may have ids of its own.
func (t Target) Overlaps(u Target) bool {
	if t.Letters() == u.Letters() {
		return t.Split != u.Split || t.Selector == u.Selector
	}
	all := slices.Concat(t.Holds, []string{t.Place})
	return t.Store == u.Store && (slices.Contains(all, u.Place) ||
		slices.ContainsFunc(u.Holds, func(place string) bool { return slices.Contains(all, place) }))
}

// String is the target as people and plans see it.
func (t Target) String() string { return t.Physical() + " via " + t.Via }

// Depth is how many letters wait. Capped means "at least Letters".
type Depth struct {
	Letters int
	Capped  bool
	Oldest  time.Time // earliest death, zero if unknown
	Newest  time.Time
	Expires time.Time // when the first letter is deleted by retention, zero if unknown
}

// Query selects letters of one queue.
type Query struct {
	Queue  string
	IDs    []string  // only these; ids that are not dead letters are not yielded
	After  string    // a DeadLetter.After of an earlier scan; empty from the start
	AsOf   time.Time // only letters that died up to then; zero means all
	Bodies bool      // fill Payload.Bytes, Envelope and, where a store digests it, Ref.Digest
	Want   int       // how many letters the reader is likely to take, 0 for all; more come if it goes on
	// Fold is for a reader who counts. The letters may come in any order, and have
	// no more than id, reason, job, attempts made and times of enqueueing and
	// death. The store may hold a session while the reader works.
	Fold bool
}

// Item is one letter to send. N is its position in the plan.
type Item struct {
	N    int
	Ref  Ref
	Body []byte // what to send instead of the stored payload; nil: unchanged
}

// Order is what to send to one queue.
type Order struct {
	Queue string
	// Attempts is how many tries the message gets: "reset" (a fresh budget),
	// "keep" (the counter stays) or a decimal number.
	Attempts string
	Items    []Item
}

// Doubt is an item that was intended under a ticket and has no outcome.
type Doubt struct {
	Item
	Ticket string
	State  State // Intended or Sent
	NewID  string
}

// State is how far an item has come.
type State string

const (
	Claimed  State = "claimed"  // in a plan; as an outcome: proved not sent
	Intended State = "intended" // the intent is durable, the effect may have happened
	Sent     State = "sent"     // sent, its dead copy perhaps not yet removed
	Done     State = "done"     // sent, and its dead copy is gone
	Skipped  State = "skipped"  // not sent: gone, changed, busy …
	Failed   State = "failed"   // not sent: the store refused it
	Doubtful State = "unknown"  // cannot be proved either way
)

// Outcome is what became of one item.
type Outcome struct {
	N     int
	State State
	Code  Code   // why, for Skipped, Failed and Doubtful
	NewID string // the id under which the message now lives, if it changed
	Cause error  // the store's own error; for the audit log only, redacted
}

// Journal is the rein on a store while it redrives. A store calls, per batch,
// Admit, then (inside its transaction, if it has one) Intend, then makes the
// effect, then Record. An error of the journal means: make no effect, roll
// back, return the error.
type Journal interface {
	// Admit waits for pace and answers how many of n items may go now, at
	// least one. It is called before any lock is taken or message received.
	Admit(ctx context.Context, n int) (int, error)
	// Intend makes durable that these items are about to be sent under ticket.
	Intend(ctx context.Context, ticket string, n ...int) error
	// Record makes outcomes durable after the effect.
	Record(ctx context.Context, outcomes ...Outcome) error
}

// Ahead is a Journal of a redrive that nothing paces or limits. A store may
// prepare a batch, up to its intent, while it still sends the one before; such
// a batch is admitted by AdmitAhead and intended by Turn.
type Ahead interface {
	Journal
	// AdmitAhead is Admit, and may be called while Turn or Record run. It may ask
	// the store, so nothing may be held for it that the store has few of; Turn and
	// Record ask nothing.
	AdmitAhead(ctx context.Context, n int) (int, error)
	// Turn makes durable what came of the batch before, if anything, and in the
	// same step that the next one is about to be sent under ticket. After an error
	// the next may not be sent, and the batch before may still be in doubt.
	Turn(ctx context.Context, before []Outcome, ticket string, n ...int) error
}
