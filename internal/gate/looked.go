package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// lookTime is how long a call of an agent waits for a look at a queue. The look
// goes on without it.
const lookTime = 15 * time.Second

// LookInfo says how far a queue was looked at, in a store where nothing can be
// read without taking it for a while. Elsewhere there is none.
type LookInfo struct {
	AsOf    string   `json:"as_of,omitempty"` // when the newest look that came to its end began
	Running bool     `json:"running,omitempty"`
	Seen    int      `json:"seen"`
	Total   *int     `json:"approx_total,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// looked sees to it that a queue was looked at, anew if that is asked for. A
// person waits until the look has ended.
func (c *call) looked(ctx context.Context, t *target, anew bool) (*LookInfo, error) {
	l, ok := t.store.(backends.Looker)
	if !ok {
		return nil, nil
	}
	wait := ctx
	if c.caller.Kind == KindAgent {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, lookTime)
		defer cancel()
	}
	look, err := l.Look(wait, t.q.Name, anew)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, storeRefusal(t.q.Name, err)
	}
	info := &LookInfo{AsOf: stamp(look.AsOf), Running: look.Running, Seen: look.Seen, Notes: look.Notes}
	if look.Total >= 0 {
		info.Total = &look.Total
	}
	return info, nil
}

// next says before the next step what a look has not seen yet.
func (l *LookInfo) next(step string) string {
	switch {
	case l == nil || !l.Running:
		return step
	case l.Total != nil:
		return fmt.Sprintf("The queue is still being looked at: %d of about %d letters so far. Call again in some seconds for the rest. %s", l.Seen, *l.Total, step)
	}
	return "The queue is still being looked at. Call again in some seconds for the rest. " + step
}
