package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Levels of findings.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelError   = "error"
)

func (s *session) doctor(ctx context.Context) []Finding {
	c, err := s.begin(ctx, "doctor", "")
	if err != nil {
		return []Finding{asFinding("state folder and log", err)}
	}
	f := []Finding{
		{LevelOK, "policy " + c.pol.Path + " loads", ""},
		{LevelOK, "state folder " + c.pol.State + ", ledger and log can be used", ""},
		{LevelWarning, "guardrail mode: whoever may run this program as this user can also edit the policy, use the credentials and replace the program",
			"enforced mode, a service under a user of its own, is not built yet"},
	}
	for _, w := range policy.Check(c.pol, c.s.g.o.Clock()) {
		f = append(f, Finding{LevelWarning, w.Place() + ": " + w.Why, w.Hint})
	}
	f = append(f, c.doctorLedger(ctx)...)
	leads := map[string]backends.Target{}
	for _, name := range queueNames(c.pol) {
		f = append(f, c.doctorQueue(ctx, name, leads)...)
	}
	if err := c.done(ctx, nil); err != nil {
		f = append(f, asFinding("log", err))
	}
	return f
}

func asFinding(what string, err error) Finding {
	f := Finding{Level: LevelError, What: what + ": " + err.Error()}
	if r, ok := errors.AsType[*Refusal](err); ok {
		f.Hint = r.Hint
	}
	return f
}

func (c *call) doctorLedger(ctx context.Context) (f []Finding) {
	if why := c.st.stopped(); why != "" {
		f = append(f, Finding{LevelWarning, "redrives are stopped: " + why, "redrive-mcp resume"})
	}
	if _, err := c.st.ledger.Now(); err != nil {
		f = append(f, Finding{LevelError, err.Error(), "set the clock right; if it is right, it ran ahead once, and nothing is sent until it is as late again (docs/design.md, \"A clock that is wrong\")"})
	}
	rows, err := c.st.ledger.Find(ctx, ledger.Unknown, ledger.Running, ledger.Stopping)
	if err != nil {
		return append(f, asFinding("ledger", err))
	}
	now, _ := c.st.ledger.Now()
	for _, row := range rows {
		switch {
		case row.State == ledger.Unknown:
			f = append(f, Finding{LevelError, "request " + row.ID + " has messages whose outcome is unknown", "redrive-mcp show " + row.ID + ", look, then redrive-mcp resolve"})
		case now.After(row.Lease):
			f = append(f, Finding{LevelWarning, "request " + row.ID + " is running and its executor is gone", "redrive-mcp run " + row.ID})
		}
	}
	rep, err := audit.Verify(ctx, c.st.folder, audit.VerifyOptions{})
	if err != nil {
		return append(f, asFinding("log", err))
	}
	level := LevelOK
	if rep.Status == audit.Tampered || rep.Status == audit.Unreadable {
		level = LevelError
	} else if rep.Status == audit.Warning {
		level = LevelWarning
	}
	return append(f, Finding{level, fmt.Sprintf("audit log: %s, %d records", rep.Status, rep.Records), "redrive-mcp audit verify"})
}

// doctorQueue connects, and finds two queues of the policy that lead to the same
// letters.
func (c *call) doctorQueue(ctx context.Context, name string, leads map[string]backends.Target) []Finding {
	t, err := c.open(ctx, name)
	if err != nil {
		return []Finding{asFinding("queue "+name, err)}
	}
	f := []Finding{{LevelOK, fmt.Sprintf("queue %s leads to %s", name, t.at), ""}}
	for _, other := range slices.Sorted(maps.Keys(leads)) {
		if leads[other].Overlaps(t.at) {
			f = append(f, Finding{LevelError, fmt.Sprintf("queues %s and %s lead to the same letters, so neither is redriven", other, name), "keep one of them: limits and rules would differ by the name that is used"})
		}
	}
	leads[name] = t.at
	if ch, ok := t.store.(backends.Checker); ok {
		warnings, err := ch.CheckUp(ctx, name)
		if err != nil {
			f = append(f, asFinding("queue "+name, storeRefusal(name, err)))
		}
		for _, w := range warnings {
			f = append(f, Finding{LevelWarning, "queue " + name + ": " + w, ""})
		}
	}
	return f
}
