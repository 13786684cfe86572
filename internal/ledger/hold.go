package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// Hold is an executor's sign of life: a lock that the kernel frees when the
// process ends, however it ends. It lets the next executor start at once after a
// crash; what keeps two apart is the fence.
type Hold struct {
	lock   *durable.Lock
	state  *durable.Folder
	name   string
	ledger *Ledger
	plan   string
}

// Hold takes the sign of life of a plan. dead reports that nobody had it, so
// that the plan's last executor, if there was one, is gone. If somebody has it,
// for example a stopped process, only its lease decides.
func (l *Ledger) Hold(ctx context.Context, plan string) (h *Hold, dead bool, err error) {
	return l.hold(ctx, plan, holdTimeout)
}

// holdTimeout outlasts the moment in which Held has the lock.
const holdTimeout = 100 * time.Millisecond

func (l *Ledger) hold(ctx context.Context, plan string, timeout time.Duration) (h *Hold, dead bool, err error) {
	h = &Hold{state: l.state, name: "run-" + plan + ".lock", ledger: l, plan: plan}
	h.lock, err = l.state.Lock(ctx, h.name, timeout)
	switch {
	case errors.Is(err, durable.ErrLocked):
		return h, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("holding %s: %w", plan, err)
	}
	return h, true, nil
}

// Release gives the sign of life up. Its file goes when the plan is over: a
// process that still has it open can lock it, and then finds that the plan
// cannot be started.
func (h *Hold) Release() {
	if h.lock == nil {
		return
	}
	if state, _, err := h.ledger.State(context.Background(), h.plan); err == nil && !state.Open() {
		h.state.Remove(h.name)
	}
	h.lock.Unlock()
}

// Held reports whether some process shows the sign of life of a plan.
func (l *Ledger) Held(ctx context.Context, plan string) bool {
	h, dead, err := l.hold(ctx, plan, time.Millisecond)
	if err != nil || !dead {
		return err == nil
	}
	h.Release()
	return false
}
