package gate_test

import (
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// A change that no diff shows is not sent: what comes out equal keeps its bytes,
// however a patch spells it or where it puts it.
func TestEqualPartsKeepTheirBytes(t *testing.T) {
	const body = `{"currency":"EU", "n":1.10,"id":9007199254740993,"o":{"a":1,"b":2.0},"l":[1.0,-0,{"x":1e2}],"e":"\u0041"}`
	want := strings.Replace(body, `"EU"`, `"EUR"`, 1)
	const eur = `{"op":"replace","path":"/currency","value":"EUR"}`
	for _, tc := range []struct{ patch, merge string }{
		{"[" + eur + "]", ""},
		{"[" + eur + `,{"op":"replace","path":"/n","value":1.1}]`, ""},
		{"[" + eur + `,{"op":"replace","path":"/id","value":9007199254740993.0}]`, ""},
		{`[{"op":"remove","path":"/currency"},{"op":"add","path":"/currency","value":"EUR"}]`, ""},
		{"[" + eur + `,{"op":"move","from":"/n","path":"/m"},{"op":"move","from":"/m","path":"/n"}]`, ""},
		{"[" + eur + `,{"op":"replace","path":"/o","value":{"b":2,"a":1.0}},{"op":"replace","path":"/e","value":"A"}]`, ""},
		{"[" + eur + `,{"op":"remove","path":"/l/1"},{"op":"add","path":"/l/1","value":0}]`, ""},
		{"", `{"currency":"EUR","n":11e-1,"o":{"b":2},"l":[1,0,{"x":100}]}`},
		{`[{"op":"replace","path":"","value":{"l":[1,0,{"x":100}],"e":"A","o":{"b":2,"a":1},"n":1.1,"id":9007199254740993,"currency":"EUR"}}]`, ""},
	} {
		h := open(t, strings.Replace(standard, "paths: [/card], text: ['\\b\\d{13,19}\\b'], ", "", 1))
		id := h.kill("orders", 1, "TimeoutError: x", body)[0]
		p := must[*gate.PatchResult](t)(h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(tc.patch), MergePatch: gate.RawJSON(tc.merge)}))
		if p.PatchID == "" || len(p.Paths) != 1 || p.Paths[0] != "/currency" {
			t.Errorf("%s%s: got %+v", tc.patch, tc.merge, p)
			continue
		}
		res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, PatchID: p.PatchID, Reason: "r"}))
		must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
		must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
		if sent := h.work()[id]; sent != want {
			t.Errorf("%s%s sends %s", tc.patch, tc.merge, sent)
		}
	}
}

// A new body that reads the same is no mending: not in text that is JSON, and
// not where nobody can say what the old one read.
func TestNewBodyThatReadsTheSame(t *testing.T) {
	for name, tc := range map[string]struct {
		format, old, now string
		same             bool
		decision         string
	}{
		"JSON":                        {"", `{"a":1.0,"b":2}`, `{"b":2,"a":1}`, true, "nothing to decide"},
		"JSON that is another":        {"", `{"a":1}`, `{"a":2}`, false, "approval for 1"},
		"text that is JSON":           {", format: text", `{"a":1.0,"b":2}`, ` {"b":2,"a":1}`, true, "nothing to decide"},
		"text that is JSON, another":  {", format: text", `{"a":1}`, `{"a":2}`, false, "approval for 1"},
		"text":                        {"", `a=1`, `a=2`, false, "approval for 1"},
		"a name twice":                {"", `{"a":1,"a":1}`, `{"a":1}`, false, "never for 1"},
		"a name twice, and text":      {"", `{"a":1,"a":2`, `a`, false, "approval for 1"},
		"the same text, byte by byte": {"", `a=1`, `a=1`, true, "nothing to decide"},
	} {
		h := open(t, standard)
		h.write(strings.Replace(policyHead, "payload: payload", "payload: {column: payload"+tc.format+"}", 1) + `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    rules: [{name: poison, when: {error: permanent, patched: false}, do: never}]
    approval: {from: [oncall]}
    patch: {replace: true}
`)
		id := h.kill("orders", 1, "unknown currency", tc.old)[0]
		res, err := h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, ReplaceBody: &tc.now})
		if err != nil || (res.Same == 1) != tc.same || res.Decision != tc.decision {
			t.Errorf("%s: got %+v, %v", name, res, err)
		}
	}
}
