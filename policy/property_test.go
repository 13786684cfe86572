package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

const propertyHead = `
version: 1
state: /var/lib/redrive
backends: {aws: {type: sqs}}
errors:
  - {class: permanent, code: p, match: perm}
  - {class: transient, code: t, match: trans}
queues:
  q:
    source: {backend: aws, dlq: d}
    handler: {idempotent: true}
    limits: {per_hour: 100}
    patch: {allow: [/a]}
    redrive: `

var conditions = []string{
	"error: permanent", "error: [transient, unknown]", "code: t", "job: mail-*", "replays: {max: 0}", "replays: {min: 2}",
	"attempts: {min: 2}", "age: {max: 2h}", "age: {min: 30m}", "quiet: {min: 10m}", "patched: false", "patched: true",
}

// condition is a random condition of up to three parts with different keys.
func condition(r *rand.Rand) string {
	parts := map[string]string{}
	for range r.IntN(3) + 1 {
		part := conditions[r.IntN(len(conditions))]
		key, _, _ := strings.Cut(part, ":")
		parts[key] = part
	}
	var list []string
	for _, part := range parts {
		list = append(list, part)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func randomRules(r *rand.Rand) []string {
	rules := make([]string, r.IntN(4))
	for i := range rules {
		do := []string{"never", "approval", "direct"}[r.IntN(3)]
		rules[i] = fmt.Sprintf("{name: r%d, when: {%s}, do: %s}", i, condition(r), do)
	}
	return rules
}

// queueOf is the queue with these rules, nil if the policy is refused.
func queueOf(effect string, rules []string) *policy.Queue { return queueIn("", effect, rules) }

// queueIn is the queue while direct redrives are frozen to what becomes says.
func queueIn(becomes, effect string, rules []string) *policy.Queue {
	text := propertyHead + effect + "\n    rules: [" + strings.Join(rules, ", ") + "]\n"
	if becomes != "" {
		text += "freeze: [{name: f, from: 2026-12-10T00:00, to: 2026-12-11T00:00, direct_becomes: " + becomes + "}]\n"
	}
	p, err := policy.Parse("policy.yaml", []byte(text), nil, options())
	if err != nil {
		return nil
	}
	return p.Queues["q"]
}

func randomFacts(r *rand.Rand) policy.Facts {
	coin := func() bool { return r.IntN(2) == 0 }
	some := func(list ...string) string { return list[r.IntN(len(list))] }
	minutes := func() time.Time { return noon.Add(-time.Duration(r.IntN(200)) * time.Minute) }
	return policy.Facts{
		Now: noon, Message: some("perm", "trans", "perm trans", "other", ""), Job: some("mail-a", "x"),
		Verdict: some("", "unknown", "permanent", "transient", "not_failed"), Attempts: r.IntN(5),
		Replays: r.IntN(4), ReplaysKnown: true, Died: minutes(), LastArrival: minutes(), LastArrivalKnown: true, Patched: coin(),
	}
}

func looser(a, b policy.Effect) bool { return a != b && policy.Stricter(a, b) == b }

func TestMoreRefusalsNeverLoosen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compared, tightened := 0, 0
	for compared < 6000 {
		effect, rules := []string{"never", "approval", "direct"}[r.IntN(3)], randomRules(r)
		more := slices.Insert(slices.Clone(rules), r.IntN(len(rules)+1), fmt.Sprintf("{name: extra, when: {%s}, do: never}", condition(r)))
		before, after := queueOf(effect, rules), queueOf(effect, more)
		if before == nil || after == nil {
			continue
		}
		for range 50 {
			f := randomFacts(r)
			a, b := after.Decide(f), before.Decide(f)
			if looser(a.Effect, b.Effect) {
				t.Fatalf("%s loosens %s to %s: %v %+v", more, b.Effect, a.Effect, rules, f)
			}
			if a.Effect != b.Effect {
				tightened++
			}
			compared++
		}
	}
	if tightened == 0 {
		t.Error("no added rule ever mattered")
	}
}

func TestForgettingNeverLoosens(t *testing.T) {
	forget := map[string]func(*policy.Facts){
		"job":      func(f *policy.Facts) { f.Job = "" },
		"attempts": func(f *policy.Facts) { f.Attempts = -1 },
		"replays":  func(f *policy.Facts) { f.ReplaysKnown = false },
		"death":    func(f *policy.Facts) { f.Died = time.Time{} },
		"arrivals": func(f *policy.Facts) { f.LastArrivalKnown = false },
		"now":      func(f *policy.Facts) { f.Now = time.Time{} },
	}
	r := rand.New(rand.NewPCG(3, 4))
	for compared := 0; compared < 6000; {
		becomes := []string{"", "approval", "never"}[r.IntN(3)]
		q := queueIn(becomes, []string{"never", "approval", "direct"}[r.IntN(3)], randomRules(r))
		if q == nil {
			continue
		}
		for range 10 {
			f := randomFacts(r)
			known := q.Decide(f)
			for name, forget := range forget {
				g := f
				forget(&g)
				d := q.Decide(g)
				if looser(d.Effect, known.Effect) {
					t.Fatalf("without %s %s becomes %s: %+v\n%s", name, known.Effect, d.Effect, f, q.Explain(g))
				}
				if d.Effect == policy.Direct && policy.Tighter(d.Limits, known.Limits) != d.Limits {
					t.Fatalf("without %s the limits %v become %v", name, known.Limits, d.Limits)
				}
				compared++
			}
		}
	}
}

// Hostile text may choose among classes, and never a way around a refusal of
// permanent errors: adding text to a permanent error leaves it permanent.
func TestTextCannotHideAPermanentError(t *testing.T) {
	q := queueOf("direct", []string{"{name: poison, when: {error: permanent}, do: never}"})
	for _, text := range []string{"perm", "trans perm", "perm trans trans", "perm\x00trans", "\xff perm"} {
		if d := q.Decide(policy.Facts{Now: noon, Message: text}); d.Effect != policy.Never {
			t.Errorf("%q: %s", text, d.Effect)
		}
	}
}

func TestDecisionsRepeatNoStoreText(t *testing.T) {
	const planted = "s3cr3t"
	for _, p := range []*policy.Policy{load(t, "design.yaml")} {
		for _, q := range p.Queues {
			for _, code := range []string{"", planted} {
				f := settled()
				f.Message, f.Code, f.Job = planted+" HTTP 429", code, planted
				for _, verdict := range []string{"", "permanent", planted} {
					f.Verdict = verdict
					d := q.Decide(f)
					if text := fmt.Sprintf("%+v", d) + q.Explain(f); strings.Contains(text, planted) {
						t.Errorf("%s repeats text of the store:\n%s", q.Name, text)
					}
				}
			}
		}
	}
}
