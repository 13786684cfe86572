package gate

import (
	"context"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// maxQuietScan bounds how many letters are looked at for the newest arrival of
// an error group. Beyond it the fact counts as unknown, which loosens nothing.
const maxQuietScan = 200_000

// known is what the gate knows about letters beside what the store says.
type known struct {
	now      time.Time
	replays  map[string]ledger.Replay // nil: not asked
	arrivals map[string]time.Time     // newest death by group; nil: not asked
}

// learn asks, where a rule or a limit needs it, the ledger about letters and the
// store about the newest arrival in their groups. Where no group is named it
// looks which ones they are of.
func (c *call) learn(ctx context.Context, t *target, ids []string, groups ...string) (known, error) {
	now, _ := c.st.ledger.Now()
	k := known{now: now}
	var err error
	if k.replays, err = c.replays(ctx, t, ids); err != nil {
		return k, err
	}
	if !needsQuiet(t.q) || !t.can.Dated {
		return k, nil
	}
	wanted := map[string]bool{}
	for _, g := range groups {
		wanted[g] = true
	}
	if len(wanted) == 0 {
		err = c.fetch(ctx, t, ids, func(d *backends.DeadLetter) error {
			v := t.glance(d, false)
			wanted[v.group] = true
			return nil
		}, func(string) {})
	}
	if err == nil {
		k.arrivals, err = c.arrivals(ctx, t, wanted)
	}
	return k, err
}

// replays counts how often letters were sent before; nil where nothing in the
// policy of the queue depends on it.
func (c *call) replays(ctx context.Context, t *target, ids []string) (map[string]ledger.Replay, error) {
	if !needsReplays(t.q) {
		return nil, nil
	}
	return c.st.ledger.Replays(ctx, t.at.Letters(), ids)
}

func needsReplays(q *policy.Queue) bool {
	limited := func(l policy.Limits) bool { return l.PerMessage > 0 || l.Cooldown > 0 }
	return limited(q.Limits) || slices.ContainsFunc(q.Rules, func(r *policy.Rule) bool {
		return r.When.Replays != nil || limited(r.Limits)
	})
}

func needsQuiet(q *policy.Queue) bool {
	for _, r := range q.Rules {
		if r.When.Quiet != nil {
			return true
		}
	}
	return false
}

// lag is how far what is read of a queue may be behind; negative where nobody can
// tell.
func (t *target) lag(ctx context.Context) (time.Duration, error) {
	l, ok := t.store.(backends.Lagging)
	if !ok {
		return 0, nil
	}
	lag, err := l.Lag(ctx, t.q.Name)
	if err != nil {
		return 0, storeRefusal(t.q.Name, err)
	}
	return lag, nil
}

// maxLag is how far a copy may be behind that can still tell what arrives.
const maxLag = 10 * time.Second

// arrivals finds the newest death of each group. A scan yields the newest
// first, so the first letter of a group is the one. In a copy that lags nobody
// sees what arrived since, so nothing is known; a small lag counts as if the
// group had grown that much later.
func (c *call) arrivals(ctx context.Context, t *target, groups map[string]bool) (map[string]time.Time, error) {
	lag, err := t.lag(ctx)
	if err != nil || lag < 0 || lag > maxLag {
		return nil, err
	}
	found := map[string]time.Time{}
	n := 0
	for d, err := range t.store.Scan(ctx, backends.Query{Queue: t.q.Name, Bodies: t.needsBody()}) {
		if err != nil {
			return nil, storeRefusal(t.q.Name, err)
		}
		if v := t.glance(d, false); groups[v.group] {
			if _, ok := found[v.group]; !ok {
				found[v.group] = d.Times.Dead.Add(lag)
			}
		}
		if n++; len(found) == len(groups) || n >= maxQuietScan {
			break
		}
	}
	return found, nil
}

// facts are what the policy judges one letter by.
func (k known) facts(c *call, d *backends.DeadLetter, v *seen, j judged) policy.Facts {
	f := policy.Facts{
		Now:      k.now,
		ByPerson: c.caller.Kind == KindPerson,
		Message:  d.Reason.Message.Raw(),
		Code:     d.Reason.Code.Raw(),
		Job:      d.Origin.Job.Raw(),
		Verdict:  string(d.Reason.Verdict),
		Attempts: d.Attempts.Made,
		Replays:  k.replays[d.ID].Count,
		Died:     d.Times.Dead,
		ListOnly: d.ListOnly,
		Patched:  j.mends, SetsHidden: j.sets,
		// Only where ids are the store's own and stay is the count complete.
		ReplaysKnown: k.replays != nil,
	}
	f.LastArrival, f.LastArrivalKnown = k.arrivals[v.group]
	return f
}
