package redrive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

func wantAs[E error](t *testing.T, what string, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Errorf("%s: %v, want %T", what, err, e)
	}
	return e
}

// wantEnd compares how the plan ends and what went, in the order of ids.
func (w *world) wantEnd(what string, state, wantState ledger.State, sent ...int) {
	w.t.Helper()
	if state != wantState {
		w.t.Errorf("%s: ends as %s, want %s", what, state, wantState)
	}
	if p := w.plan(); p.State != state {
		w.t.Errorf("%s: Run says %s, the ledger %s", what, state, p.State)
	}
	var got []int
	for _, it := range w.items() {
		got = append(got, w.store.sent[it.Ref.ID])
	}
	if fmt.Sprint(got) != fmt.Sprint(sent) {
		w.t.Errorf("%s: sent %v, want %v", what, got, sent)
	}
	if !wantState.Open() {
		w.check(what)
	}
}

func TestRun(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	batches := 0
	w.order.Progress = func() { batches++ }
	state, err := w.run()
	must(t, err)
	w.wantEnd("a run", state, ledger.Done, 1, 1, 1)
	if batches != 2 {
		t.Errorf("progress was told %d times of two batches", batches)
	}
	var phases []string
	for _, r := range w.records() {
		phases = append(phases, r.Phase)
		if r.Plan != digest || r.Run == "" || r.Op != "o-1" || r.Actor != "person ana" {
			t.Errorf("record %+v", r)
		}
		if strings.Contains(string(r.Raw), "secret") {
			t.Errorf("a store's words are in the log: %s", r.Raw)
		}
	}
	if got := strings.Join(phases, " "); got != "run intent outcome intent outcome outcome" {
		t.Errorf("phases %s", got)
	}
	if last := w.records(audit.PhaseOutcome)[2]; last.Outcome != "done" {
		t.Errorf("the end is recorded as %q", last.Outcome)
	}
	_, err = w.run()
	wantAs[*ledger.MoveError](t, "a second run", err)
	w.check("a second run")
}

// What an item turned out to be decides how the plan ends.
func TestRunEnds(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.store.dead["b"] = false
	state, err := w.run()
	must(t, err)
	w.wantEnd("one is gone", state, ledger.Partial, 1, 0)

	w = newWorld(t)
	state, err = w.run()
	must(t, err)
	w.wantEnd("no items", state, ledger.Done)
}

func TestNothingIsSentBeforeTheBinding(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.order.Bind = func(it ledger.Item) error {
		if it.N == 2 {
			return errFault
		}
		return nil
	}
	state, err := w.run()
	if wantAs[*HaltError](t, "the last item", err); !errors.Is(err, errFault) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("an item that is not bound", state, ledger.Halted, 0, 0, 0)
}

func TestCheckFailsInTheMiddle(t *testing.T) {
	for at, sent := range map[int][]int{1: {0, 0, 0}, 2: {1, 1, 0}} {
		w := newWorld(t, "a", "b", "c")
		asked := 0
		w.order.Check = func(context.Context) error {
			if asked++; asked == at {
				return errFault
			}
			return nil
		}
		state, err := w.run()
		if wantAs[*HaltError](t, "a check", err); !errors.Is(err, errFault) {
			t.Errorf("error %v", err)
		}
		w.wantEnd(fmt.Sprint("check ", at), state, ledger.Halted, sent...)
	}
}

// Somebody cancels while a batch is under way: it is finished, the rest stays.
func TestCancel(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	p := w.process()
	defer p.close()
	stopped := errors.New("cancelled")
	w.order.Check = func(ctx context.Context) error {
		if row, err := p.ledger.Get(ctx, planID); err != nil || row.State == ledger.Stopping {
			return errors.Join(stopped, err)
		}
		return nil
	}
	w.store.onEffect = func() {
		if s, err := p.ledger.Cancel(t.Context(), planID, "enough"); s != ledger.Stopping || err != nil {
			t.Errorf("cancelling: %s, %v", s, err)
		}
	}
	state, err := p.exec.Run(t.Context(), w.store, w.order)
	if !errors.Is(err, stopped) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("cancelled", state, ledger.Halted, 1, 1, 0)
}

func TestContextEndsBetweenBatches(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	p := w.process()
	defer p.close()
	ctx, cancel := context.WithCancel(t.Context())
	w.store.onEffect = cancel
	state, err := p.exec.Run(ctx, w.store, w.order)
	if !errors.Is(err, ErrStopped) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("stopped", state, ledger.Halted, 1, 1, 0)
}

// The context ends while the run waits for its pace.
func TestContextEndsTheWait(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.order.Rate = 1
	p := w.process()
	defer p.close()
	ctx, cancel := context.WithCancel(t.Context())
	p.exec.Wait = nil // the real one
	w.store.onEffect = cancel
	state, err := p.exec.Run(ctx, w.store, w.order)
	if !errors.Is(err, ErrStopped) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("stopped", state, ledger.Halted, 1, 0, 0)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.exec.wait(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is called off: %v", err)
	}
	must(t, p.exec.wait(t.Context(), time.Nanosecond))
}

func TestPaceAndWhatHappensMeanwhile(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.order.Rate = 0.5
	state, err := w.run()
	must(t, err)
	w.wantEnd("paced", state, ledger.Done, 1, 1, 1)
	if took := w.time().Sub(start); took != 4*time.Second {
		t.Errorf("three messages at one in two seconds took %v", took)
	}

	w = newWorld(t, "a", "b", "c")
	w.order.Rate = 0.5
	w.order.Check = func(context.Context) error {
		if w.time().After(start) {
			return errFault // the time was up while it waited
		}
		return nil
	}
	state, err = w.run()
	if !errors.Is(err, errFault) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("stopped while it waited", state, ledger.Halted, 1, 0, 0)
}

func TestLimitIsReached(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d", "e")
	w.order.PerHour = 3
	state, err := w.run()
	if wantAs[*HaltError](t, "the limit", err); !errors.Is(err, ErrLimit) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("limit", state, ledger.Halted, 1, 1, 1, 0, 0)
}

// The store goes away in the middle of a batch: nobody knows what became of it,
// so the plan stays, and the next run asks first.
func TestStoreGoesAway(t *testing.T) {
	for name, setup := range kinds {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b", "c")
			setup(w.store)
			w.store.onEffect = func() { w.store.unreachable = w.store.tickets == 2 }
			state, err := w.run()
			if backends.CodeOf(err) != backends.Unreachable {
				t.Errorf("error %v", err)
			}
			w.wantEnd("away", state, ledger.Running, 1, 1, 0)
			state, err = w.run()
			if err == nil {
				t.Error("a run ended while the store was away")
			}
			w.wantEnd("still away", state, ledger.Running, 1, 1, 0)
			w.store.unreachable, w.store.onEffect = false, nil
			state, err = w.run()
			must(t, err)
			want, sent := ledger.Done, 1
			if w.store.twoStep { // still dead proves nothing there
				want, sent = ledger.Unknown, 0
			}
			w.wantEnd("back", state, want, 1, 1, sent)
		})
	}
}

func TestTwoExecutorsAtOnce(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d", "e", "f")
	var wg sync.WaitGroup
	states := make([]ledger.State, 4)
	for i := range states {
		p := w.process()
		defer p.close()
		wg.Go(func() {
			state, err := p.exec.Run(t.Context(), w.store, w.order)
			var fence *ledger.FenceError
			var move *ledger.MoveError
			if err != nil && !errors.As(err, &fence) && !errors.As(err, &move) {
				t.Error(err)
			}
			states[i] = state
		})
	}
	wg.Wait()
	ran := 0
	for _, s := range states {
		if s == ledger.Done {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("states %q", states)
	}
	w.wantEnd("four executors", ledger.Done, ledger.Done, 1, 1, 1, 1, 1, 1)
}

// The lease runs out while a batch is under way, and another executor takes the
// plan over. The old one records what it did and intends no more.
func TestLeaseIsLost(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	p := w.process()
	defer p.close()
	w.store.onEffect = func() {
		w.store.onEffect = nil
		w.add(Lease)
		other := w.process()
		defer other.close()
		if _, err := other.ledger.Start(t.Context(), planID, "x-other", Lease, false); err != nil {
			t.Error(err)
		}
	}
	state, err := p.exec.Run(t.Context(), w.store, w.order)
	wantAs[*ledger.FenceError](t, "the old one", err)
	if got := w.plan().Run; got != "x-other" {
		t.Errorf("the plan is run by %s", got)
	}
	w.wantEnd("fenced off", state, ledger.Running, 1, 1, 0)
	w.add(Lease)
	state, err = w.run()
	must(t, err)
	w.wantEnd("the next one", state, ledger.Done, 1, 1, 1)
}

// An executor that was fenced off stores an outcome and dies before the log has
// it, while the one that took over records its own: the log gets both.
func TestOutcomeOfAFencedOffExecutor(t *testing.T) {
	w := newWorld(t, "a", "b", "gone")
	w.store.dead["gone"] = false
	w.store.onEffect = func() {
		w.store.onEffect = nil
		old := w.process()
		defer old.close()
		row, err := old.ledger.Get(t.Context(), planID)
		must(t, err)
		_, err = old.ledger.Record(t.Context(), planID, row.Run, row.Fence, []backends.Outcome{{N: 2, State: backends.Skipped, Code: backends.Gone}})
		must(t, err)
	}
	state, err := w.run()
	if state != ledger.Halted { // it meets what the other one did
		t.Errorf("ends as %s, %v", state, err)
	}
	w.check("fenced off")
}

func TestLostExecutorIsNotAdmitted(t *testing.T) {
	w := newWorld(t, "a")
	p := w.process()
	defer p.close()
	j := &journal{e: p.exec, o: w.order, stop: t.Context()}
	j.lost.Store(true)
	_, err := j.Admit(t.Context(), 1)
	wantAs[*ledger.FenceError](t, "admit", err)
}

// No intent in the log, no effect.
func TestLogThatCannotBeWrittenAtIntent(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	p := w.process()
	defer p.close()
	w.order.Commit = func(n int) string { p.log.Close(); return "c" }
	state, err := p.exec.Run(t.Context(), w.store, w.order)
	if !errors.Is(err, audit.ErrClosed) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("no intent in the log", state, ledger.Running, 0, 0, 0)
	w.order.Commit = func(int) string { return "c" }
	state, err = w.run()
	must(t, err)
	w.wantEnd("the next run", state, ledger.Done, 1, 1, 1)
}

// The effect has happened when the log fails: the next run records it.
func TestLogThatCannotBeWrittenAtOutcome(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	p := w.process()
	defer p.close()
	w.store.onEffect = func() { p.log.Close() }
	state, err := p.exec.Run(t.Context(), w.store, w.order)
	if !errors.Is(err, audit.ErrClosed) {
		t.Errorf("error %v", err)
	}
	// A HaltError would say that the rest is released.
	if halt, ok := errors.AsType[*HaltError](err); ok {
		t.Errorf("the plan goes on, and the error says that it halted: %v", halt)
	}
	w.wantEnd("no outcome in the log", state, ledger.Running, 1, 1, 0)
	w.store.onEffect = nil
	state, err = w.run()
	must(t, err)
	w.wantEnd("the next run", state, ledger.Done, 1, 1, 1)
	recovered := 0
	for _, r := range w.records(audit.PhaseOutcome) {
		if len(r.Args) == 1 && r.Args[0].Key == "recovered" {
			recovered += len(r.Items)
		}
	}
	if recovered != 2 {
		t.Errorf("%d outcomes are marked as recovered", recovered)
	}
}

// A log that fails at the very beginning sends nothing and releases the letters.
func TestLogThatCannotBeWrittenAtTheStart(t *testing.T) {
	w := newWorld(t, "a")
	p := w.process()
	defer p.close()
	p.log.Close()
	state, err := p.exec.Run(t.Context(), w.store, w.order)
	if wantAs[*HaltError](t, "the start", err); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("error %v", err)
	}
	w.wantEnd("no start in the log", state, ledger.Halted, 0)
}

func TestRunOfNoPlan(t *testing.T) {
	w := newWorld(t, "a")
	w.order.Plan = "r-none"
	_, err := w.run()
	if !errors.Is(err, ledger.ErrNoPlan) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b, ids...)
		w.store.batch = 500
		b.StartTimer()
		if state, err := w.run(); state != ledger.Done || err != nil {
			b.Fatal(state, err)
		}
	}
}
