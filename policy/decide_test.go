package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

// noon is the frozen clock of these tests: winter, no freeze of the fixture on.
var noon = time.Date(2026, 12, 10, 12, 0, 0, 0, time.UTC)

// settled is a message that the fixture's orders redrive directly.
func settled() policy.Facts {
	return policy.Facts{
		Now: noon, Message: "upstream said HTTP 429", Attempts: 3, ReplaysKnown: true,
		Died: noon.Add(-3 * time.Hour), LastArrival: noon.Add(-time.Hour), LastArrivalKnown: true,
	}
}

func TestDecide(t *testing.T) {
	p := load(t, "design.yaml")
	tests := []struct {
		name, queue string
		change      func(*policy.Facts)
		effect      policy.Effect
		rule, why   string
		allowed     string
	}{
		{"settled", "orders", func(*policy.Facts) {}, policy.Direct, "settled of orders",
			"the error is transient (throttled) and it was redriven 0 times before and its error group last grew 1h ago and the message is not patched", ""},
		{"poison", "orders", func(f *policy.Facts) { f.Message = "moov atom not found" }, policy.Never, "poison of orders",
			"the error is permanent (truncated-mp4) and the message is not patched",
			"Propose a patch for /currency or /customer/email, or leave it for a person."},
		{"poison patched", "orders", func(f *policy.Facts) { f.Message, f.Patched = "moov atom not found", true }, policy.EffectApproval, "orders: approval",
			"no rule matched", "A person decides: 1 of oncall."},
		{"list only", "orders", func(f *policy.Facts) { f.ListOnly = "the record does not hold the message" }, policy.Never, "orders: list only",
			"the record does not hold the message", "Leave it for a person."},
		{"both classes", "orders", func(f *policy.Facts) { f.Message += " moov atom not found" }, policy.Never, "poison of orders", "", ""},
		{"store says permanent", "orders", func(f *policy.Facts) { f.Verdict = "permanent" }, policy.Never, "poison of orders",
			"the error is permanent and the message is not patched", ""},
		{"store says transient", "orders", func(f *policy.Facts) { f.Verdict, f.Message = "transient", "moov atom not found" }, policy.Direct, "settled of orders", "", ""},
		{"pattern on the code", "orders", func(f *policy.Facts) { f.Message, f.Code = "", "HTTP 429" }, policy.Direct, "settled of orders", "", ""},
		{"replayed", "orders", func(f *policy.Facts) { f.Replays = 1 }, policy.EffectApproval, "orders: approval", "no rule matched", "A person decides: 1 of oncall."},
		{"replays not known", "orders", func(f *policy.Facts) { f.ReplaysKnown = false }, policy.EffectApproval, "orders: approval", "", ""},
		{"still failing", "orders", func(f *policy.Facts) { f.LastArrival = noon.Add(-10*time.Minute + 1) }, policy.EffectApproval, "orders: approval", "",
			"A person decides: 1 of oncall. Without a person: ask again after 2026-12-10 12:00:00 UTC."},
		{"quiet at the bound", "orders", func(f *policy.Facts) { f.LastArrival = noon.Add(-10 * time.Minute) }, policy.Direct, "settled of orders", "", ""},
		{"arrivals not known", "orders", func(f *policy.Facts) { f.LastArrivalKnown = false }, policy.EffectApproval, "orders: approval", "", ""},
		{"person's own", "orders", func(f *policy.Facts) { f.ByPerson, f.Message = true, "moov atom not found" }, policy.Never, "poison of orders", "",
			"Propose a patch for /currency or /customer/email."},
		{"no rules", "jobs", func(*policy.Facts) {}, policy.Direct, "jobs: direct", "the queue has no rules", ""},
		{"patched, no rules", "jobs", func(f *policy.Facts) { f.Patched = true }, policy.EffectApproval, "jobs: patch.direct", "", "A person decides: anyone at the command line."},
		{"frozen", "orders", func(f *policy.Facts) { at(f, "2026-11-30T12:00:00Z") }, policy.EffectApproval, "freeze black-friday",
			"direct redrives are frozen until 2026-12-01 08:00 CET",
			"A person decides: 1 of oncall. Without a person: ask again after 2026-12-01 07:00:00 UTC."},
		{"frozen, another queue", "jobs", func(f *policy.Facts) { at(f, "2026-11-30T12:00:00Z") }, policy.Direct, "jobs: direct", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := settled()
			test.change(&f)
			d := p.Queues[test.queue].Decide(f)
			if d.Effect != test.effect || d.Rule != test.rule {
				t.Errorf("%s by %q, want %s by %q\n%+v", d.Effect, d.Rule, test.effect, test.rule, d.Checks)
			}
			if test.why != "" && d.Why != test.why {
				t.Errorf("why %q, want %q", d.Why, test.why)
			}
			if test.allowed != "" && d.Allowed != test.allowed {
				t.Errorf("allowed %q, want %q", d.Allowed, test.allowed)
			}
			if d.Effect == policy.Direct && d.Allowed != "" || d.Effect != policy.Direct && d.Limits != (policy.Limits{}) {
				t.Errorf("%s with allowed %q and limits %v", d.Effect, d.Allowed, d.Limits)
			}
		})
	}
}

// at moves a message and the clock to another time.
func at(f *policy.Facts, when string) {
	now, err := time.Parse(time.RFC3339, when)
	if err != nil {
		panic(err)
	}
	shift := now.Sub(f.Now)
	f.Now, f.Died, f.LastArrival = now, f.Died.Add(shift), f.LastArrival.Add(shift)
}

const head = `
version: 1
state: /var/lib/redrive
backends: {aws: {type: sqs, region: eu-west-1}}
people: {ana: {}, luis: {}, eva: {}}
groups: {oncall: [ana, luis]}
`

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	read := func(string) ([]byte, error) { return []byte("{}"), nil }
	p, err := policy.Parse("policy.yaml", []byte(text), read, options())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// decideWith decides by one queue whose rules are given as YAML lines.
func decideWith(t *testing.T, rules string, f policy.Facts) policy.Decision {
	t.Helper()
	p := parse(t, head+`
queues:
  q:
    source: {backend: aws, dlq: d}
    redrive: direct
    handler: {idempotent: true}
    limits: {per_hour: 100, cooldown: 5m}
    patch: {allow: [/a]}
    rules:
`+rules)
	return p.Queues["q"].Decide(f)
}

func TestConditions(t *testing.T) {
	tests := []struct {
		when   string
		change func(*policy.Facts)
		match  bool
		known  bool
		why    string
	}{
		{"{error: unknown}", nil, true, true, "the error is unknown"},
		{"{error: [permanent, transient]}", nil, false, true, "the error is unknown, and the rule takes permanent or transient"},
		{"{code: E1}", func(f *policy.Facts) { f.Code = "E1" }, true, true, `the error code is "E1"`},
		{"{code: [E1, E2]}", func(f *policy.Facts) { f.Code = "E3" }, false, true, `the error code is not "E1" or "E2"`},
		{"{job: mail-*}", func(f *policy.Facts) { f.Job = "mail-send" }, true, true, `the job is "mail-*"`},
		{"{job: mail}", func(f *policy.Facts) { f.Job = "mail-send" }, false, true, `the job is not "mail"`},
		{"{job: mail}", nil, false, false, "the job name is not known"},
		{"{replays: {min: 2}}", func(f *policy.Facts) { f.Replays = 2 }, true, true, "it was redriven 2 times before"},
		{"{replays: {max: 0}}", func(f *policy.Facts) { f.Replays = 1 }, false, true, "it was redriven once before, and the rule takes at most 0"},
		{"{attempts: {min: 1, max: 3}}", nil, true, true, "it was tried 3 times"},
		{"{attempts: {min: 4, max: 5}}", nil, false, true, "it was tried 3 times, and the rule takes 4 to 5"},
		{"{attempts: {min: 4}}", func(f *policy.Facts) { f.Attempts = -1 }, false, false, "how often it was tried is not known"},
		{"{age: {min: 3h}}", nil, true, true, "it died 3h ago"},
		{"{age: {max: 2h}}", nil, false, true, "it died 3h ago, and the rule takes at most 2h"},
		{"{age: {max: 2h}}", func(f *policy.Facts) { f.Died = noon.Add(time.Hour) }, true, true, "it died 0s ago"},
		{"{age: {max: 2d}}", func(f *policy.Facts) { f.Died = time.Time{} }, false, false, "when it died is not known"},
		{"{quiet: {min: 90m}}", nil, false, true, "its error group last grew 1h ago, and the rule waits for 1h30m"},
		{"{quiet: {min: 1h}}", nil, true, true, "its error group last grew 1h ago"},
		{"{quiet: {min: 1h}}", func(f *policy.Facts) { f.LastArrival = noon.Add(time.Hour) }, false, true, "its error group last grew 0s ago, and the rule waits for 1h"},
		{"{patched: true}", nil, false, true, "the message is not patched, and the rule takes one that is patched"},
		{"{error: unknown, job: x, patched: true}", nil, false, true, "the message is not patched, and the rule takes one that is patched"},
	}
	for _, test := range tests {
		for _, do := range []string{"never", "approval", "direct"} {
			f := settled()
			f.Message = ""
			if test.change != nil {
				test.change(&f)
			}
			d := decideWith(t, "      - {name: r, when: "+test.when+", do: "+do+"}\n", f)
			c := d.Checks[0]
			if want := test.match || !test.known && do == "never"; c.Matched != want || c.Known != test.known || c.Why != test.why {
				t.Errorf("%s do %s: matched %v, known %v, %q", test.when, do, c.Matched, c.Known, c.Why)
			}
			// A refusal or an approval that may apply is followed; nothing else changes.
			follows := test.match || !test.known && do != "direct"
			if got := strings.HasPrefix(d.Rule, "r of"); got != follows {
				t.Errorf("%s do %s: decided by %q", test.when, do, d.Rule)
			}
		}
	}
}

func TestNothingIsAllowed(t *testing.T) {
	q := queueOf("never", nil)
	for byPerson, want := range map[bool]string{false: "Leave it for a person.", true: "Nothing is allowed for it as it is."} {
		if d := q.Decide(policy.Facts{Now: noon, ByPerson: byPerson}); d.Allowed != want || d.Rule != "q: never" || d.Why != "the queue has no rules" {
			t.Errorf("%+v", d)
		}
	}
}

func TestNeverWinsOverOrder(t *testing.T) {
	d := decideWith(t, `
      - {name: first, when: {attempts: {min: 1}}, do: direct}
      - {name: second, when: {quiet: {min: 1h}}, do: approval}
      - {name: third, when: {attempts: {min: 3}, patched: false}, do: never}
`, settled())
	if d.Rule != "third of q" {
		t.Errorf("decided by %q", d.Rule)
	}
}

func TestLimitsTighten(t *testing.T) {
	f := settled()
	f.ReplaysKnown = false
	d := decideWith(t, `
      - {name: careful, when: {replays: {max: 0}}, do: direct, limits: {per_plan: 5}}
      - {name: other, when: {attempts: {min: 1}}, do: direct, limits: {per_hour: 200, cooldown: 10m}}
`, f)
	want := policy.Limits{PerPlan: 5, PerHour: 100, Cooldown: 10 * time.Minute}
	if d.Effect != policy.Direct || d.Limits != want {
		t.Errorf("%s with %v, want %v", d.Effect, d.Limits, want)
	}
}

func TestStricter(t *testing.T) {
	order := []policy.Effect{policy.Never, policy.EffectApproval, policy.Direct}
	for i, a := range order {
		for j, b := range order {
			if got := policy.Stricter(a, b); got != order[min(i, j)] {
				t.Errorf("Stricter(%s, %s) = %s", a, b, got)
			}
		}
		if got := policy.Stricter(a, "typo"); got != policy.Never {
			t.Errorf("Stricter(%s, typo) = %s", a, got)
		}
	}
}
