package policy_test

import (
	"fmt"
	"strings"
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
		// For ever, nearly.
		{"0001-01-01T00:00", "9999-12-31T23:59:59", "UTC", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"},
		// A day that was left out: Samoa went from the 29th to the 31st.
		{"2011-12-30T12:00", "2011-12-31T12:00", "Pacific/Apia", "2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"},
		// Half an hour forth, and a zone that is ahead of the clock changes of others.
		{"2026-10-04T02:15", "2026-10-04T12:00", "Australia/Lord_Howe", "2026-10-03T15:15:00Z", "2026-10-04T01:00:00Z"},
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

// What alone would leave a message to a person, a patch or a fact that nobody
// knows, does not take it out of a freeze.
func TestFreezeHoldsWhatWouldBeDirect(t *testing.T) {
	p := parse(t, head+`
freeze: [{name: hard, from: 2026-12-10T00:00, to: 2026-12-11T00:00, direct_becomes: never}]
queues:
  q:
    source: {backend: aws, dlq: d}
    redrive: direct
    handler: {idempotent: true}
    limits: {per_hour: 1}
    patch: {allow: [/a]}
    rules:
      - {name: often, when: {attempts: {min: 9}}, do: approval}
`)
	for name, test := range map[string]struct {
		f    policy.Facts
		rule string
	}{
		"as it is":             {policy.Facts{Now: noon, Attempts: 1}, "freeze hard"},
		"patched":              {policy.Facts{Now: noon, Attempts: 1, Patched: true}, "freeze hard"},
		"hidden values set":    {policy.Facts{Now: noon, Attempts: 1, SetsHidden: true}, "freeze hard"},
		"attempts not known":   {policy.Facts{Now: noon, Attempts: -1}, "freeze hard"},
		"for a person anyway":  {policy.Facts{Now: noon, Attempts: 9}, "often of q"},
		"patched, and the end": {policy.Facts{Now: noon.AddDate(0, 0, 1), Attempts: 1, Patched: true}, "q: patch.direct"},
	} {
		if d := p.Queues["q"].Decide(test.f); d.Rule != test.rule || strings.Contains(d.Allowed, "patch") {
			t.Errorf("%s: %s by %s: %s", name, d.Effect, d.Rule, d.Allowed)
		}
	}
}
