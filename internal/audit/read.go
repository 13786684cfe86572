package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// Query selects records; a zero field selects all. Since is inclusive, Until is
// not. Contains is looked for in the line as it stands, where all but printable
// ASCII is escaped.
type Query struct {
	From         uint64 // the first seq
	Since, Until time.Time
	Phase        string
	Queue        string
	Plan         string
	Op           string
	Actor        string
	Contains     string
}

func (q *Query) matches(r *Record) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return r.Seq >= q.From &&
		(q.Since.IsZero() || !r.TS.Before(q.Since)) &&
		(q.Until.IsZero() || r.TS.Before(q.Until)) &&
		is(q.Phase, r.Phase) && is(q.Queue, r.Queue) && is(q.Plan, r.Plan) && is(q.Op, r.Op) && is(q.Actor, r.Actor) &&
		(q.Contains == "" || bytes.Contains(r.Raw, []byte(q.Contains)))
}

// passes says that a line surely does not match. Most lines of a search do not,
// and to decode one takes longer than to scan it.
func (q *Query) passes(l *line) bool {
	return l.seq < q.From || q.Phase != "" && q.Phase != string(l.text(keyPhase))
}

// existing opens the folder of a log for reading; nil if there is none.
func existing(state *durable.Folder, name string) (*durable.Folder, error) {
	dir, err := state.Existing(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

// Read yields the records that match, oldest first, in bounded memory. It takes
// no lock: what is appended meanwhile may or may not be seen, and bytes behind
// the last newline are not. It does not verify. A line that is no record is
// yielded as an error that wraps ErrDamaged, and reading goes on; any other error
// ends it.
func Read(ctx context.Context, state *durable.Folder, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		dir, err := existing(state, logFolder)
		if err == nil && dir != nil {
			defer dir.Close()
			err = read(ctx, dir, &q, yield)
		}
		if err != nil {
			yield(Record{}, fmt.Errorf("reading the audit log: %w", err))
		}
	}
}

// read leaves the hash alone: a person who searches a damaged log must see what
// is there, and Verify says what of it holds.
func read(ctx context.Context, dir *durable.Folder, q *Query, yield func(Record, error) bool) error {
	names, _, err := segments(dir)
	if err != nil {
		return err
	}
	for _, name := range startingAt(names, q.From) {
		more := true
		err := eachLine(ctx, dir, name, 0, func(at place, raw []byte, ended error) bool {
			more = ended == io.EOF || visit(at, raw, q, yield)
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func visit(at place, raw []byte, q *Query, yield func(Record, error) bool) bool {
	var l line
	err := l.scan(raw)
	if err == nil && q.passes(&l) {
		return true
	}
	var r Record
	if err == nil {
		r, err = l.record(raw)
	}
	if err != nil {
		return yield(Record{}, fmt.Errorf("%w: %s line %d: %w", ErrDamaged, at.segment, at.line, err))
	}
	return !q.matches(&r) || yield(r, nil)
}

// startingAt leaves out the segments that end before a seq.
func startingAt(names []string, from uint64) []string {
	for len(names) > 1 {
		if first, _ := segmentFirst(names[1]); first > from {
			break
		}
		names = names[1:]
	}
	return names
}

// maxTail bounds the memory of Tail; who needs more uses Read.
const maxTail = 10_000

// Tail returns the newest n records, oldest first, at most 10,000, without
// reading the rest of the log. Lines that are no records are passed over; the
// error wraps ErrDamaged then and comes with the records.
func Tail(state *durable.Folder, n int) ([]Record, error) {
	dir, err := existing(state, logFolder)
	if err != nil || dir == nil {
		return nil, err
	}
	defer dir.Close()
	names, _, err := segments(dir)
	if err != nil {
		return nil, err
	}
	t := newest{most: min(n, maxTail)}
	for i := len(names) - 1; i >= 0 && len(t.first) < t.most; i-- {
		if err := t.read(dir, names[i]); err != nil {
			return nil, fmt.Errorf("reading the end of %s: %w", names[i], err)
		}
	}
	slices.Reverse(t.first)
	return t.first, t.damaged
}

// newest collects records from the end of the log.
type newest struct {
	most    int
	first   []Record // newest first
	damaged error    // the newest line that is no record
}

// read goes back line by line from the end of a segment. Bytes behind the last
// newline are passed over, as Read does.
func (t *newest) read(dir *durable.Folder, name string) error {
	file, err := dir.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	for end := info.Size(); len(t.first) < t.most; {
		raw, after, err := lastLine(file, end)
		if err != nil || raw == nil {
			return err
		}
		if r, err := decode(raw); err == nil {
			t.first = append(t.first, r)
		} else if t.damaged == nil {
			t.damaged = fmt.Errorf("%w: a line of %s near byte %d: %w", ErrDamaged, name, after, err)
		}
		end = after - 1
	}
	return nil
}
