package redrive

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// The clock jumps at every step of a run, by more or less, forwards and back.
// Each letter goes once; a clock that is far behind stops the run and says so;
// one that only stood still for a moment, or ran ahead, does not.
func TestClockJumpsAtEveryStep(t *testing.T) {
	for jump, mayStop := range map[time.Duration]bool{
		-ledger.MaxClockLag:                    false,
		-ledger.MaxClockLag - time.Microsecond: true,
		-24 * time.Hour:                        true,
		ledger.MaxAdmitted:                     false,
		Lease:                                  false,
		2 * time.Hour:                          false,
		365 * 24 * time.Hour:                   false,
	} {
		t.Run(jump.String(), func(t *testing.T) {
			t.Parallel()
			seeds := newSeeds(t, "a", "b", "c", "gone")
			for at := 1; ; at++ {
				w := crashWorld(t, seeds, func(*toy) {})
				reached, where := w.brokenBy(at, func() { w.add(jump) })
				if !reached {
					if at < 20 {
						t.Errorf("only %d steps were tried", at)
					}
					break
				}
				p := w.process()
				w.steps = steps{}
				row, err := p.ledger.Get(t.Context(), planID)
				must(t, err)
				_, lag := p.ledger.Now()
				p.close()
				state := row.State
				where = fmt.Sprintf("%s, by %v", where, jump)
				if !mayStop && state != ledger.Partial {
					t.Errorf("%s: it ends as %s: %s", where, state, row.Why)
				}
				if _, behind := errors.AsType[*ledger.ClockError](lag); behind != mayStop && state.Open() {
					t.Errorf("%s: %v", where, lag)
				}
				if jump < 0 {
					w.add(-jump) // somebody sets it right
				}
				w.finish()
				w.check(where)
			}
		})
	}
}
