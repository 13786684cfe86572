package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Clocks in Berlin go from 02:00 CET to 03:00 CEST on 2026-03-29 (01:00 UTC)
// and from 03:00 CEST to 02:00 CET on 2026-10-25 (01:00 UTC).
func TestFreezeAcrossClockChanges(t *testing.T) {
	tests := []struct{ from, to, tz, first, end string }{
		{"2026-03-28T12:00", "2026-03-29T12:00", "Europe/Berlin", "2026-03-28T11:00:00Z", "2026-03-29T10:00:00Z"},
		{"2026-10-24T12:00", "2026-10-25T12:00", "Europe/Berlin", "2026-10-24T10:00:00Z", "2026-10-25T11:00:00Z"},
		// Twice there: from the first reading to the second.
		{"2026-10-25T02:30", "2026-10-25T02:30:01", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:01Z"},
		// Never there: the reading that makes the freeze longer.
		{"2026-03-29T02:30", "2026-03-29T12:00", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T10:00:00Z"},
		{"2026-03-28T12:00", "2026-03-29T02:30", "Europe/Berlin", "2026-03-28T11:00:00Z", "2026-03-29T01:30:00Z"},
		{"2026-01-01T00:00", "2026-01-02T00:00", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"2026-01-01T00:00", "2026-01-02T00:00", "Asia/Kolkata", "2025-12-31T18:30:00Z", "2026-01-01T18:30:00Z"},
	}
	for _, test := range tests {
		p := parse(t, head+fmt.Sprintf(`
freeze:
  - {name: f, from: %q, to: %q, tz: %s, direct_becomes: never}
queues:
  q: {source: {backend: aws, dlq: d}, redrive: direct, handler: {idempotent: true}, limits: {per_hour: 1}}
`, test.from, test.to, test.tz))
		first, end := instant(t, test.first), instant(t, test.end)
		for _, c := range []struct {
			at     time.Time
			effect policy.Effect
		}{
			{first.Add(-time.Second), policy.Direct}, {first, policy.Never},
			{end.Add(-time.Second), policy.Never}, {end, policy.Direct},
		} {
			if d := p.Queues["q"].Decide(policy.Facts{Now: c.at}); d.Effect != c.effect {
				t.Errorf("%s to %s %s: %s at %s, want %s", test.from, test.to, test.tz, d.Effect, c.at, c.effect)
			}
		}
	}
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestStrictestFreezeCounts(t *testing.T) {
	p := parse(t, head+`
freeze:
  - {name: soft, from: 2026-12-01T00:00, to: 2026-12-31T00:00}
  - {name: hard, from: 2026-12-10T00:00, to: 2026-12-11T00:00, queues: all, direct_becomes: never}
  - {name: soft-too, from: 2026-12-01T00:00, to: 2026-12-31T00:00}
queues:
  q: {source: {backend: aws, dlq: d}, redrive: direct, handler: {idempotent: true}, limits: {per_hour: 1}}
`)
	d := p.Queues["q"].Decide(policy.Facts{Now: noon})
	if d.Effect != policy.Never || d.Rule != "freeze hard" || d.Allowed != "Ask again after 2026-12-11 00:00:00 UTC, or leave it for a person." {
		t.Errorf("%+v", d)
	}
	if d := p.Queues["q"].Decide(policy.Facts{}); d.Effect != policy.Never {
		t.Errorf("without a clock: %s", d.Effect)
	}
}
