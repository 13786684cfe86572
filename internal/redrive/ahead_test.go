package redrive

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// A store that works ahead and can prove nothing: what it sent is known from the
// journal alone.
func newAheadWorld(t *testing.T, ids ...string) *world {
	w := newWorld(t, ids...)
	w.store.ahead, w.store.receipts = true, false
	return w
}

// The run is called off while a batch is in the making. It does not go, and what
// went before is recorded.
func TestAheadAsksBeforeEveryIntent(t *testing.T) {
	for name, ask := range map[string]func(*Order) *func(context.Context) error{
		"check": func(o *Order) *func(context.Context) error { return &o.Check },
		"still": func(o *Order) *func(context.Context) error { return &o.Still },
	} {
		for at, sent := range map[int][]int{1: {0, 0, 0}, 2: {1, 1, 0}} {
			w := newAheadWorld(t, "a", "b", "c")
			asked := 0
			*ask(&w.order) = func(context.Context) error {
				if asked++; asked == at {
					return errFault
				}
				return nil
			}
			state, err := w.run()
			if wantAs[*HaltError](t, name, err); !errors.Is(err, errFault) {
				t.Errorf("error %v", err)
			}
			w.wantEnd(fmt.Sprint(name, " ", at), state, ledger.Halted, sent...)
		}
	}
}

// What was checked has changed meanwhile: it is checked again, and goes on or not.
func TestAheadChecksAgain(t *testing.T) {
	for _, again := range []error{nil, errFault} {
		w := newAheadWorld(t, "a", "b", "c")
		changed := false
		w.order.Still = func(context.Context) error {
			if w.store.sent["a"] > 0 && !changed {
				changed = true
				return ErrAskAgain
			}
			return nil
		}
		w.order.Check = func(context.Context) error {
			if changed {
				return again
			}
			return nil
		}
		state, err := w.run()
		if !errors.Is(err, again) {
			t.Errorf("error %v, want %v", err, again)
		}
		if again == nil {
			w.wantEnd("goes on", state, ledger.Done, 1, 1, 1)
		} else {
			w.wantEnd("is halted", state, ledger.Halted, 1, 1, 0)
		}
	}
}

func TestAheadStopsBetweenBatches(t *testing.T) {
	w := newAheadWorld(t, "a", "b", "c")
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

// Another executor takes the plan over while a batch is under way. The old one
// records that batch and intends no more.
func TestAheadLosesItsLease(t *testing.T) {
	w := newAheadWorld(t, "a", "b", "c")
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
	w.wantEnd("fenced off", state, ledger.Running, 1, 1, 0)
	for _, it := range w.items()[:2] {
		if it.State != backends.Done {
			t.Errorf("item %d is %s", it.N, it.State)
		}
	}
	w.add(Lease)
	state, err = w.run()
	must(t, err)
	w.wantEnd("the next one", state, ledger.Done, 1, 1, 1)
}

// Where a pace or a limit holds, nothing is admitted ahead.
func TestLimitedRunsAreNotAhead(t *testing.T) {
	for name, limit := range map[string]func(*Order){
		"paced":         func(o *Order) { o.Rate = 2 },
		"limited":       func(o *Order) { o.PerHour = 3 },
		"without Still": func(o *Order) { o.Still = nil },
	} {
		w := newAheadWorld(t, "a")
		limit(&w.order)
		if _, ok := (&journal{o: w.order}).rein().(backends.Ahead); ok {
			t.Errorf("%s, and ahead", name)
		}
	}
	if _, ok := (&journal{o: newAheadWorld(t, "a").order}).rein().(backends.Ahead); !ok {
		t.Error("neither paced nor limited, and not ahead")
	}
}
