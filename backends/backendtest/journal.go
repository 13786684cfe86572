package backendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// errCut is how a cut-off journal fails; cutPanic is how it dies.
var errCut = errors.New("the journal was cut off")

type cutPanic struct{}

// journal is a strict ledger: it survives when the store is cut off, and fails
// the test when the store takes a liberty.
type journal struct {
	t       testing.TB
	b       Bench
	bodies  []string // by N: the body that a worker would get
	most    int      // how many items go at once
	entries []entry

	mu       sync.Mutex
	admitted int
	steps    int  // steps taken so far
	cutAt    int  // the step that is cut off, -1: none
	dies     bool // a cut panics instead of returning an error
	rival    bool // somebody else sends the same letters
	ahead    bool // the store may prepare a batch while it sends another
	watch    func(step string, ns []int)
}

type entry struct {
	state  backends.State
	code   backends.Code
	ticket string
	newID  string
}

func newJournal(t testing.TB, b Bench, letters []Letter, most int) *journal {
	j := &journal{t: t, b: b, most: most, cutAt: -1, entries: make([]entry, len(letters))}
	for i, l := range letters {
		j.bodies = append(j.bodies, string(l.Body))
		j.entries[i].state = backends.Claimed
	}
	return j
}

// step counts a point where a process may die.
func (j *journal) step() error {
	at := j.steps
	j.steps++
	if at != j.cutAt {
		return nil
	}
	if j.dies {
		panic(cutPanic{})
	}
	return errCut
}

func (j *journal) Admit(_ context.Context, n int) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return 0, err
	}
	if n < 1 {
		j.t.Errorf("Admit was asked for %d items", n)
	}
	if j.watch != nil {
		j.watch("admit", nil)
	}
	j.admitted = min(n, j.most)
	return j.admitted, j.step()
}

func (j *journal) Intend(_ context.Context, ticket string, ns ...int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	j.intend(ticket, ns)
	return j.step()
}

func (j *journal) intend(ticket string, ns []int) {
	if len(ns) == 0 || len(ns) > j.admitted {
		j.t.Errorf("%d items were intended, %d were admitted", len(ns), j.admitted)
	}
	j.admitted -= len(ns)
	if ticket == "" {
		j.t.Errorf("an intent without a ticket")
	}
	ready := counts(j.t, j.b)
	for _, n := range ns {
		if e := j.at(n); e.state != backends.Claimed {
			j.t.Errorf("item %d was intended while it was %s", n, e.state)
		}
		if ready[j.bodies[n]] > 0 && !j.rival {
			j.t.Errorf("item %d was sent before it was intended", n)
		}
		*j.at(n) = entry{state: backends.Intended, ticket: ticket}
	}
	if j.watch != nil {
		j.watch("intend", ns)
	}
}

func (j *journal) Record(_ context.Context, outcomes ...backends.Outcome) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	j.note(outcomes)
	return j.step()
}

func (j *journal) note(outcomes []backends.Outcome) {
	ready := counts(j.t, j.b)
	for _, o := range outcomes {
		e := j.at(o.N)
		if why := j.refuses(*e, o, ready[j.bodies[o.N]]); why != "" {
			j.t.Errorf("item %d, %s: recorded as %s: %s", o.N, e.state, o.State, why)
		}
		e.state, e.code = o.State, o.Code
		if o.NewID != "" {
			e.newID = o.NewID
		}
	}
}

// face is what the store is given.
func (j *journal) face() backends.Journal {
	if j.ahead {
		return aheadJournal{j}
	}
	return j
}

type aheadJournal struct{ *journal }

func (j aheadJournal) AdmitAhead(_ context.Context, n int) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n < 1 {
		j.t.Errorf("AdmitAhead was asked for %d items", n)
	}
	n = min(n, j.most)
	j.admitted += n
	return n, nil
}

func (j aheadJournal) Turn(_ context.Context, before []backends.Outcome, ticket string, ns ...int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	j.note(before)
	j.intend(ticket, ns)
	return j.step()
}

// refuses says why an outcome cannot be true.
func (j *journal) refuses(e entry, o backends.Outcome, sent int) string {
	switch o.State {
	case backends.Done, backends.Sent:
		switch {
		case e.state != backends.Intended && e.state != backends.Sent:
			return "it was not intended"
		case sent != 1:
			return fmt.Sprintf("it can be seen %d times, so the effect is not durable", sent)
		}
	case backends.Skipped, backends.Failed:
		if o.Code == "" {
			return "there is no code"
		}
		if sent != 0 && !j.rival {
			return "it was sent"
		}
	case backends.Claimed:
		if e.state != backends.Intended || sent != 0 {
			return "it was not in doubt, or was sent"
		}
	case backends.Doubtful:
		if !j.b.Facts.MayDoubt {
			return "this store can always tell"
		}
	default:
		return "that is no outcome"
	}
	return ""
}

// at is the entry of an item. An item that is not in the plan fails the test.
func (j *journal) at(n int) *entry {
	if n < 0 || n >= len(j.entries) {
		j.t.Errorf("item %d is not in the plan of %d", n, len(j.entries))
		return &entry{}
	}
	return &j.entries[n]
}

func (j *journal) doubts(items []backends.Item) (out []backends.Doubt) {
	for n, e := range j.entries {
		if e.state == backends.Intended || e.state == backends.Sent {
			out = append(out, backends.Doubt{Item: items[n], Ticket: e.ticket, State: e.state, NewID: e.newID})
		}
	}
	return out
}

func (j *journal) claimed(items []backends.Item) (out []backends.Item) {
	for n, e := range j.entries {
		if e.state == backends.Claimed {
			out = append(out, items[n])
		}
	}
	return out
}

// lastClaimed is the last item that nothing was done with yet and that is not among
// some, -1 if there is none. The journal is locked.
func (j *journal) lastClaimed(but map[int]bool) int {
	for n := len(j.entries) - 1; n >= 0; n-- {
		if j.entries[n].state == backends.Claimed && !but[n] {
			return n
		}
	}
	return -1
}

// want checks the outcome of one item.
func (j *journal) want(n int, state backends.State, codes ...backends.Code) {
	j.t.Helper()
	e := j.entries[n]
	ok := e.state == state && len(codes) == 0
	for _, c := range codes {
		// A store that cannot ask for a letter by its id only knows what it found.
		ok = ok || e.state == state && (e.code == c || c == backends.Gone && e.code == backends.NotFound)
	}
	if !ok {
		j.t.Errorf("item %d is %s (%s), want %s %v", n, e.state, e.code, state, codes)
	}
}
