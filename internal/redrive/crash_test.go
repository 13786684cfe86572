package redrive

import (
	"fmt"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// kinds are stores that can prove more or less.
var kinds = map[string]func(*toy){
	"receipts":    func(*toy) {},
	"no receipts": func(s *toy) { s.receipts = false },
	"two steps":   func(s *toy) { s.receipts, s.twoStep = false, true },
	"ahead": func(s *toy) { // nothing paces or limits it
		s.ahead, s.w.order.Rate, s.w.order.PerHour = true, 0, 0
	},
}

// broken runs the plan in one process that breaks at a step. It reports whether
// the step was reached.
func (w *world) broken(at int, kind string) (reached bool, where string) {
	p := w.process()
	defer p.close()
	w.steps = steps{at: at, kind: kind}
	switch kind {
	case "log":
		w.steps.kind, w.steps.do = "do", func() { p.log.Close() }
	case "ledger":
		w.steps.kind, w.steps.do = "do", func() { p.ledger.Close() }
	}
	return w.brokenIn(p)
}

// brokenBy runs the plan in one process and does something at a step.
func (w *world) brokenBy(at int, do func()) (reached bool, where string) {
	p := w.process()
	defer p.close()
	w.steps = steps{at: at, kind: "do", do: do}
	return w.brokenIn(p)
}

func (w *world) brokenIn(p *process) (reached bool, where string) {
	at, kind := w.steps.at, w.steps.kind
	defer func() {
		where = fmt.Sprintf("%s at step %d (%s)", kind, at, w.steps.last)
		reached = w.steps.n >= at
		if r := recover(); r != nil {
			if _, ok := r.(crash); !ok {
				panic(r)
			}
		}
	}()
	p.exec.Run(w.t.Context(), w.store, w.order)
	return
}

// crashWorld has two batches, a letter that is gone, a pace and a limit.
func crashWorld(t *testing.T, s *seeds, setup func(*toy)) *world {
	w := s.world(t)
	w.store.dead["gone"] = false
	w.order.Rate = 2
	w.order.PerHour = 10
	setup(w.store)
	return w
}

// The run breaks at every step, in every way, and then goes on in healthy
// processes.
func TestEverySingleBreak(t *testing.T) {
	for name, setup := range kinds {
		for _, kind := range []string{"crash", "error", "log", "ledger"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				seeds := newSeeds(t, "a", "b", "c", "gone")
				at := 1
				for ; ; at++ {
					w := crashWorld(t, seeds, setup)
					reached, where := w.broken(at, kind)
					if !reached {
						break
					}
					state := w.finish()
					w.check(where)
					if kind == "crash" && w.store.receipts && (state != ledger.Partial || w.store.sent["a"]+w.store.sent["b"]+w.store.sent["c"] != 3) {
						t.Errorf("%s: ends as %s, sent %v", where, state, w.store.sent)
					}
				}
				if at < 20 {
					t.Errorf("only %d steps were tried", at)
				}
			})
		}
	}
}

// A batch crashes at every step, and the one that takes over crashes at every
// step too.
func TestEveryDoubleCrash(t *testing.T) {
	for name, setup := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds, tried := newSeeds(t, "a", "b"), 0
			for first := 1; ; first++ {
				reached := false
				for second := 1; ; second++ {
					w := seeds.world(t)
					setup(w.store)
					var a string
					reached, a = w.broken(first, "crash")
					again, b := w.broken(second, "crash")
					if !reached || !again {
						break
					}
					tried++
					w.finish()
					w.check(a + ", then " + b)
				}
				if !reached {
					break
				}
			}
			if tried < 150 {
				t.Errorf("only %d pairs were tried", tried)
			}
		})
	}
}
