package gate

import (
	"context"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// alone refuses a redrive of letters that the policy also names by another
// queue: rules and limits would hold by the name that is used. Two sources that
// read alike are refused when the policy is loaded; that two connections lead to
// one place shows only when they are open. A store that does not answer within a
// moment is passed over: it can be asked for nothing either.
func (c *call) alone(ctx context.Context, pol *policy.Policy, queue string, at backends.Target) error {
	for _, name := range queueNames(pol) {
		if name == queue {
			continue
		}
		other, ok := c.s.g.place(ctx, pol, name)
		if ok && other.Overlaps(at) {
			return refuse(CodePolicy, "Queues %s and %s of the policy lead to the same letters, so neither is redriven. Ask a person to take one of them out.", queue, name)
		}
	}
	return nil
}

// place is where a queue leads.
type place struct {
	at    backends.Target
	found time.Time
}

// placeAge is how long a place is taken for granted: long enough for all batches
// of a run, and no longer than a file may stand unnoticed that was put in the
// place of another.
const placeAge = time.Minute

// place finds out where a queue leads.
func (g *Gate) place(ctx context.Context, pol *policy.Policy, name string) (backends.Target, bool) {
	key := pol.Digest + " " + name
	g.mu.Lock()
	known := g.places[key]
	g.mu.Unlock()
	if !known.found.IsZero() && time.Since(known.found) < placeAge {
		return known.at, true
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	store, err := g.store(pol, pol.Queues[name].Backend)
	if err != nil {
		return backends.Target{}, false
	}
	at, err := store.Target(ctx, name)
	if err != nil {
		return at, false
	}
	g.mu.Lock()
	g.places[key] = place{at, time.Now()}
	g.mu.Unlock()
	return at, true
}
