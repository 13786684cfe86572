package redrive

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// An executor loses its lease while it still sends, and another one takes the
// plan over and asks the store about that very batch. Each letter goes once, and
// whatever the two do at one moment, ledger, log and store agree.
func TestTakenOverWhileSending(t *testing.T) {
	seeds := newSeeds(t, "a", "b", "c", "d", "e", "f", "g")
	for range 20 {
		w := seeds.world(t)
		first, second := w.process(), w.process()
		var wg sync.WaitGroup
		var secondState ledger.State
		var secondErr error
		asked := make(chan bool)
		w.store.onResolve = sync.OnceFunc(func() { close(asked) })
		w.store.onEffect = sync.OnceFunc(func() {
			w.add(Lease)
			wg.Go(func() { secondState, secondErr = second.exec.Run(t.Context(), w.store, w.order) })
			<-asked
		})
		_, err := first.exec.Run(t.Context(), w.store, w.order)
		wg.Wait()
		wantAs[*ledger.FenceError](t, "the first one", err)
		if secondErr != nil || secondState != ledger.Done {
			t.Errorf("the second one ends as %s: %v", secondState, secondErr)
		}
		first.close()
		second.close()
		w.wantEnd("two executors", w.finish(), ledger.Done, 1, 1, 1, 1, 1, 1, 1)
	}
}

// slow is the store of an executor that waits before it records what it sent.
type slow struct {
	*toy
	wait func()
}

func (s slow) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	return s.toy.Redrive(ctx, o, slowJournal{j, s.wait})
}

type slowJournal struct {
	backends.Journal
	wait func()
}

func (j slowJournal) Record(ctx context.Context, o ...backends.Outcome) error {
	j.wait()
	return j.Journal.Record(ctx, o...)
}

// The first executor comes to its end while a batch of the second one is between
// its intent and its outcome. That batch is none of its business.
func TestFencedOffSettlesNothingOfOthers(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d")
	first, second := w.process(), w.process()
	defer first.close()
	defer second.close()
	var wg sync.WaitGroup
	var secondState ledger.State
	var secondErr error
	intended, over := make(chan bool), make(chan bool)
	looks := make(chan bool) // the first one asks the store, as it must not
	w.store.onResolve = sync.OnceFunc(func() { close(looks) })
	var batches atomic.Int64
	w.store.onEffect = func() {
		if batches.Add(1) == 2 {
			close(intended)
			select {
			case <-over:
			case <-looks:
			}
		}
	}
	asked := 0
	order := w.order
	order.Check = func(context.Context) error {
		if asked++; asked == 2 {
			w.add(Lease)
			wg.Go(func() {
				secondState, secondErr = second.exec.Run(t.Context(), slow{w.store, func() { <-over }}, w.order)
			})
			<-intended
		}
		return nil
	}
	_, err := first.exec.Run(t.Context(), w.store, order)
	close(over)
	wg.Wait()
	wantAs[*ledger.FenceError](t, "the first one", err)
	if secondErr != nil || secondState != ledger.Done {
		t.Errorf("the second one ends as %s: %v", secondState, secondErr)
	}
	w.wantEnd("two executors", w.finish(), ledger.Done, 1, 1, 1, 1)
}

// A process stands still between the ledger's intent and the log's. Another one
// finishes the plan meanwhile. The first one's batch has no effect, and the log
// says so.
func TestLostBetweenLedgerAndLog(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.store.noLocks = true
	first := w.process()
	defer first.close()
	order := w.order
	order.Commit = func(n int) string {
		if n == 0 {
			w.add(Lease)
			state, err := w.run()
			must(t, err)
			w.wantEnd("the second one", state, ledger.Done, 1, 1, 1)
		}
		return "c"
	}
	effects := 0
	w.store.onEffect = func() { effects++ }
	state, err := first.exec.Run(t.Context(), w.store, order)
	wantAs[*ledger.FenceError](t, "the first one", err)
	if effects != 2 || state != ledger.Running {
		t.Errorf("%d batches had an effect, the first one ends as %s", effects, state)
	}
	w.wantEnd("two executors", w.plan().State, ledger.Done, 1, 1, 1)
}

// A process stands still between its admission and its intent, for longer than
// an admission holds: it asks again whether it may go on before it sends.
func TestStandsStillAfterAdmission(t *testing.T) {
	for name, c := range map[string]struct {
		mayGoOn error
		still   int // times
		want    ledger.State
		sent    []int
	}{
		"once, and it may go on":             {nil, 1, ledger.Done, []int{1, 1, 1}},
		"once, and all is stopped by now":    {errFault, 1, ledger.Halted, []int{0, 0, 0}},
		"each time, so it gives up and ends": {nil, 1000, ledger.Halted, []int{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b", "c")
			w.store.onIntend = func() {
				if c.still--; c.still >= 0 {
					w.add(ledger.MaxAdmitted)
				}
			}
			w.order.Check = func(context.Context) error {
				if w.time().After(start) {
					return c.mayGoOn
				}
				return nil
			}
			state, err := w.run()
			if (err == nil) != (c.want == ledger.Done) {
				t.Error(err)
			}
			w.wantEnd(name, state, c.want, c.sent...)
		})
	}
}

// The hour's limit holds although a process stood still with its share in hand.
func TestLimitHoldsForWhoStoodStill(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.order.PerHour = 2
	w.store.onIntend = func() {
		w.store.onIntend = nil
		w.add(2 * time.Hour)
		other := w.process()
		defer other.close()
		must(t, other.ledger.Create(t.Context(), ledger.Plan{ID: "r-other", Digest: "other", Bytes: []byte("b"), Queue: "mail", Letters: "toy/jobs", Physical: physical, Mode: "approval",
			State: ledger.Approved, Kind: "agent", Created: w.time(), Expires: w.time().Add(time.Hour), NotAfter: w.time().Add(time.Hour)},
			[]ledger.Item{{N: 0, Ref: backends.Ref{ID: "c"}}, {N: 1, Ref: backends.Ref{ID: "d"}}}, ledger.Caps{}))
		fence, err := other.ledger.Start(t.Context(), "r-other", "x-other", Lease, false)
		must(t, err)
		_, err = other.ledger.Reserve(t.Context(), "r-other", fence, physical, 0, 2)
		must(t, err)
		must(t, other.ledger.Intend(t.Context(), "r-other", "x-other", fence, "t-other", []int{0, 1}))
	}
	state, err := w.run()
	wantIs(t, err, ErrLimit)
	w.wantEnd("the limit", state, ledger.Halted, 0, 0)
}

func wantIs(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}
