package gate

import (
	"context"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Options are what a gate is opened with.
type Options struct {
	PolicyPath string
	Drivers    map[string]backends.Driver // by kind, as `type:` names them
	Env        func(string) (string, bool)
	Clock      func() time.Time // time.Now if nil; only tests give another
	// DirectWait is how long a call waits for a direct redrive before it answers
	// "running"; ten seconds if zero.
	DirectWait time.Duration
}

// PolicyKinds makes a store's structs known to the policy's decoder.
func PolicyKinds(drivers map[string]backends.Driver) map[string]policy.Kind {
	kinds := make(map[string]policy.Kind, len(drivers))
	for name, d := range drivers {
		kinds[name] = policy.Kind{NewBackend: d.NewBackend, NewSource: d.NewSource}
	}
	return kinds
}

// LoadPolicy loads a policy and lets each driver check its own sections. The
// error is a *policy.Faults.
func LoadPolicy(o Options) (*policy.Policy, error) { return loadPolicy(o) }

// Open loads the policy. Ledger, log and stores are opened by the first call
// that needs them.
func Open(ctx context.Context, o Options) (*Gate, error) { return open(ctx, o) }

// Agent is the door for one agent's session.
func (g *Gate) Agent(c Caller) *Agent {
	c.Kind = KindAgent
	return &Agent{s: g.session(c)}
}

// Person is the door for one person at the command line.
func (g *Gate) Person(c Caller) *Person {
	c.Kind = KindPerson
	return &Person{Agent{s: g.session(c)}}
}
