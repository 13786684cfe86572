package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// proposals asks for one letter of orders in several ways. "" is the letter as
// it is; anything else a patch, a merge patch or a new body.
type proposals struct {
	t  *testing.T
	h  *house
	id string
}

func (p proposals) ask(change string, dry bool) (*gate.RequestResult, error) {
	p.t.Helper()
	args := gate.RedriveArgs{Queue: "orders", ID: p.id, Reason: "r", DryRun: dry}
	if change != "" {
		in := gate.PatchArgs{Queue: "orders", ID: p.id}
		switch body, whole := strings.CutPrefix(change, "body "); {
		case whole:
			in.ReplaceBody = &body
		case change[0] == '[':
			in.Patch = gate.RawJSON(change)
		default:
			in.MergePatch = gate.RawJSON(change)
		}
		pr := must[*gate.PatchResult](p.t)(p.h.agent().ProposePatch(p.t.Context(), in))
		if pr.PatchID == "" {
			p.t.Fatalf("%s does not apply: %+v", change, pr)
		}
		args.PatchID = pr.PatchID
	}
	return p.h.agent().RequestRedrive(p.t.Context(), args)
}

func (p proposals) deny(change string) {
	p.t.Helper()
	res := must[*gate.RequestResult](p.t)(p.ask(change, false))
	must[*gate.RequestResult](p.t)(p.h.person("ana").Deny(p.t.Context(), res.RequestID, "no"))
}

// A denial stands against what was proposed, however that is written, and
// whatever hidden value it sets. Another change is another proposal.
func TestDeniedProposals(t *testing.T) {
	const body = `{"id":1,"currency":"EU","n":1.10,"card":"4111111111111111","note":"see below"}`
	const whole = `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    approval: {from: [oncall], deny_for: 1h}
    patch: {allow: [/currency], replace: true}
    redact: {text: ['\b\d{13,19}\b']}
`
	paths := strings.Replace(standard, "allow: [/currency, /items/*/sku]", "allow: [/currency, /n, /card, /extra]", 1)
	for _, tc := range []struct {
		name, policy, denied string
		same, other          []string
	}{
		{"as stored", paths, "", []string{""}, []string{`{"currency":"EUR"}`}},
		{"a patch", paths, `[{"op":"replace","path":"/currency","value":"EUR"}]`,
			[]string{`[{"op":"replace","path":"/currency","value":"EUR"}]`, `{"currency":"EUR"}`, `{"currency":"\u0045UR"}`, `{"currency":"EUR","n":1.1}`, `{"currency":"EUR","card":"5"}`,
				`[{"op":"add","path":"/extra","value":1},{"op":"remove","path":"/extra"},{"op":"add","path":"/currency","value":"EUR"}]`},
			[]string{"", `{"currency":"USD"}`, `{"currency":"EUR","n":2}`}},
		{"a number", paths, `{"n":2}`, []string{`{"n":2.0}`, `{"n":20e-1}`}, []string{`{"n":2.1}`}},
		{"a hidden value", paths, `{"card":"5500000000000004"}`,
			[]string{`{"card":"5500000000000004"}`, `{"card":"4111111111111111"}`, `{"card":"EU"}`, `[{"op":"replace","path":"/card","value":7}]`},
			[]string{"", `{"card":"5500000000000004","currency":"EUR"}`}},
		{"a value that a pattern hides", paths, `{"extra":"4222222222222222"}`,
			[]string{`{"extra":"4333333333333333"}`, `{"extra":4333333333333333}`}, []string{`{"extra":"4"}`}},
		{"a new body", whole, `body {"currency":"EUR","pan":4222222222222222}`,
			[]string{`body {"currency":"EUR","pan":4222222222222222}`, `body {"pan":4333333333333333, "currency":"\u0045UR"}`}, []string{"", `body {"currency":"USD"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := open(t, tc.policy)
			p := proposals{t, h, h.kill("orders", 1, "TimeoutError: x", body)[0]}
			p.deny(tc.denied)
			for _, c := range tc.same {
				for _, dry := range []bool{true, false} {
					_, err := p.ask(c, dry)
					refused(t, err, gate.CodeDenied, "a person denied it in r-", `"no"`)
				}
			}
			for _, c := range tc.other {
				must[*gate.RequestResult](t)(p.ask(c, true))
			}
			h.clock.add(61 * time.Minute)
			must[*gate.RequestResult](t)(p.ask(tc.denied, false))
			h.verify()
		})
	}
}

// People are not asked about one letter again and again with one trivial change
// after the other; a person may ask at any time, and another death is another
// matter.
func TestDenialsAreEnough(t *testing.T) {
	h := open(t, standard)
	p := proposals{t, h, h.kill("orders", 1, "TimeoutError: x", `{"currency":"EU"}`)[0]}
	for i := range 3 {
		p.deny(fmt.Sprintf(`{"currency":"X%d"}`, i))
		h.clock.add(10 * time.Minute)
	}
	for _, c := range []string{"", `{"currency":"EUR"}`, `{"currency":"X1"}`} {
		_, err := p.ask(c, false)
		refused(t, err, gate.CodeDenied, "denied it")
	}
	_, err := p.ask(`{"currency":"EUR"}`, true)
	refused(t, err, gate.CodeDenied, "people denied it 3 times", h.clock.now().Add(30*time.Minute).Format(time.RFC3339))
	must[*gate.RequestResult](t)(h.person("luis").RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: p.id, Reason: "r", DryRun: true}))
	h.clock.add(31 * time.Minute) // the first of the three has ended
	must[*gate.RequestResult](t)(p.ask(`{"currency":"EUR"}`, true))
	_, err = p.ask(`{"currency":"X1"}`, true)
	refused(t, err, gate.CodeDenied, "a person denied it")
	h.exec(`UPDATE jobs SET failed_at = ?`, h.clock.now().Format(time.RFC3339))
	must[*gate.RequestResult](t)(p.ask(`{"currency":"X1"}`, true))
}

// What an agent is told after a denial does not depend on hidden values, old or
// new: a denial answers no guess.
func TestDenialsAreNoOracle(t *testing.T) {
	policy := strings.Replace(standard, "allow: [/currency, /items/*/sku]", "allow: [/currency, /card, /extra]", 1)
	said := map[string][]string{}
	for _, card := range []string{"tok-0001", "tok-0002"} {
		for _, denied := range []string{`{"card":"tok-0001"}`, `{"card":"tok-0003","extra":"x"}`, `{"extra":"tok-0001"}`, `{"card":"EU"}`, `{"extra":"x"}`} {
			h := open(t, policy)
			p := proposals{t, h, h.kill("orders", 1, "TimeoutError: x", `{"currency":"EU","card":"`+card+`","note":"paid"}`)[0]}
			p.deny(denied)
			text := ""
			for _, c := range []string{"", `{"card":"tok-0001"}`, `{"card":"tok-0002"}`, `{"card":"tok-0003"}`, `{"card":"tok-0001","extra":"x"}`, `{"card":"tok-0002","extra":"x"}`, `{"extra":"tok-0001"}`, `{"extra":"tok-0002"}`} {
				_, err := p.ask(c, true)
				text += fmt.Sprintf("%s: denied %v\n", c, err != nil)
			}
			said[denied] = append(said[denied], text)
		}
	}
	for denied, texts := range said {
		if texts[0] != texts[1] {
			t.Errorf("after the denial of %s the answers are\n%s\nor\n%s", denied, texts[0], texts[1])
		}
	}
}
