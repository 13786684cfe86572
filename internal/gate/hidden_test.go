package gate_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// answers asks everything that an agent can ask about one letter of orders and
// returns all that it is told, without nonces, times and fresh ids.
func answers(t *testing.T, h *house, id, group string) string {
	t.Helper()
	a := h.agent()
	var b strings.Builder
	say := func(v any, err error) {
		if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	ctx := t.Context()
	say(a.Group(ctx, gate.GroupArgs{Queue: "orders"}))
	say(a.List(ctx, gate.ListArgs{Queue: "orders"}))
	say(a.Inspect(ctx, gate.InspectArgs{Queue: "orders", ID: id}))
	for _, word := range []string{"4111", "5500", "declined", "[redacted]"} {
		say(a.List(ctx, gate.ListArgs{Queue: "orders", Filter: &gate.Filter{ErrorContains: word}}))
	}
	for _, patch := range []string{
		`[{"op":"replace","path":"/card","value":"4111111111111111"}]`,
		`[{"op":"replace","path":"/card","value":"5500000000000004"}]`,
		`[{"op":"test","path":"/card","value":"4111111111111111"}]`,
		`[{"op":"test","path":"/note","value":"card 4111111111111111"},{"op":"replace","path":"/currency","value":"EUR"}]`,
		`[{"op":"test","path":"","value":{}}]`,
		`[{"op":"remove","path":"/card"}]`,
		`[{"op":"copy","from":"/card","path":"/currency"}]`,
		`[{"op":"move","from":"/card","path":"/currency"}]`,
		`[{"op":"copy","from":"","path":"/currency"}]`,
		`[{"op":"add","path":"/card/x","value":1}]`,
		`[{"op":"replace","path":"/currency","value":"EUR"}]`,
		`[{"op":"replace","path":"","value":{}}]`,
	} {
		say(a.ProposePatch(ctx, gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(patch), ResponseFormat: "detailed"}))
	}
	for _, merge := range []string{`{"card":"4111111111111111"}`, `{"card":null}`, `{"card":{}}`, `{"card":{"x":1}}`, `{"currency":"EUR"}`, `[]`, `"x"`} {
		say(a.ProposePatch(ctx, gate.PatchArgs{Queue: "orders", ID: id, MergePatch: gate.RawJSON(merge)}))
	}
	body := `{"card":"4111111111111111"}`
	say(a.ProposePatch(ctx, gate.PatchArgs{Queue: "orders", ID: id, ReplaceBody: &body}))
	for _, card := range []string{"4111111111111111", "5500000000000004"} {
		p, err := a.ProposePatch(ctx, gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(`[{"op":"replace","path":"/card","value":"` + card + `"}]`)})
		if err != nil {
			t.Fatal(err)
		}
		say(a.RequestRedrive(ctx, gate.RedriveArgs{Queue: "orders", ID: id, PatchID: p.PatchID, Reason: "r", DryRun: true}))
	}
	say(a.RequestRedrive(ctx, gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r", DryRun: true}))
	return regexp.MustCompile(`data [0-9a-f]{16}|p-[a-z0-9]{8}|"(as_of|expires)":"[^"]*"`).ReplaceAllString(b.String(), "…")
}

// Two letters that differ only in what the policy hides give the same answers
// to every question.
func TestNoOracle(t *testing.T) {
	for _, message := range []string{"CardError: %s declined", `ValueError: unknown currency "EU" for %s`} {
		var said []string
		for _, card := range []string{"4111111111111111", "5500000000000004"} {
			h := open(t, standard)
			h.policy(strings.Replace(standard, "allow: [/currency, /items/*/sku]", "allow: [/currency, /card]", 1))
			id := h.kill("orders", 1, fmt.Sprintf(message, card), `{"currency":"EU","card":"`+card+`","note":"card `+card+`"}`)[0]
			text := answers(t, h, id, "")
			if strings.Contains(strings.ReplaceAll(text, `"value":"`, ""), card) {
				t.Errorf("an answer holds the hidden value:\n%s", text)
			}
			said = append(said, text)
		}
		if said[0] != said[1] {
			a, b := strings.Split(said[0], "\n"), strings.Split(said[1], "\n")
			for i := range a {
				if a[i] != b[i] {
					t.Errorf("question %d tells them apart:\n%s\n%s", i, a[i], b[i])
				}
			}
		}
	}
}

func TestWithheldBody(t *testing.T) {
	h := open(t, standard)
	for name, body := range map[string]string{
		"duplicate names": `{"card":"4111111111111111","card":"4111111111111112"}`,
		"not JSON":        `card=4111-secret-word`,
		"trailing data":   `{"card":"x"} secretword`,
	} {
		id := h.kill("orders", 1, "CardError: in "+body, body)[0]
		in := must[*gate.InspectResult](t)(h.agent().Inspect(t.Context(), gate.InspectArgs{Queue: "orders", ID: id}))
		if in.Payload.Withheld == "" || in.Payload.Patchable || strings.Contains(in.Text, "secret") || strings.Contains(in.Text, "41111") {
			t.Errorf("%s: got %+v", name, in)
		}
		pr := must[*gate.PatchResult](t)(h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(`[{"op":"add","path":"/currency","value":"EUR"}]`)}))
		if pr.Applies != 0 || pr.PatchID != "" {
			t.Errorf("%s: patched: %+v", name, pr)
		}
	}
}

func TestPatchRules(t *testing.T) {
	const body = `{"currency":"EU","amount":5,"items":[{"sku":"a","n":1},{"sku":"b"}],"big":9007199254740993,"card":"x"}`
	cases := []struct {
		name, patch string
		applies     bool
		words       string
	}{
		{"allowed", `[{"op":"replace","path":"/currency","value":"EUR"}]`, true, ""},
		{"allowed in a list", `[{"op":"replace","path":"/items/1/sku","value":"c"}]`, true, ""},
		{"not allowed", `[{"op":"replace","path":"/amount","value":6}]`, false, "/amount"},
		{"an operation that changes nothing may name any path", `[{"op":"test","path":"/amount","value":5},{"op":"replace","path":"/currency","value":"EUR"}]`, true, ""},
		{"a detour", `[{"op":"copy","from":"/amount","path":"/currency"},{"op":"replace","path":"/amount","value":1}]`, false, "/amount"},
		{"a missing path", `[{"op":"replace","path":"/nope","value":1}]`, false, "no such path"},
		{"an index with a zero in front", `[{"op":"replace","path":"/items/01/sku","value":"c"}]`, false, "no such path"},
		{"an element removed", `[{"op":"remove","path":"/items/0"}]`, false, "/items"},
		{"two big ids are not one", `[{"op":"replace","path":"/big","value":9007199254740992}]`, false, "/big"},
		{"nothing changes", `[{"op":"replace","path":"/currency","value":"EU"}]`, false, ""},
		{"the root", `[{"op":"add","path":"","value":{"currency":"EUR"}}]`, false, "hides"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			h := open(t, standard)
			id := h.kill("orders", 1, "boom", body)[0]
			res, err := h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(tc.patch)})
			if err != nil {
				if tc.applies || tc.words == "" || !strings.Contains(err.Error(), tc.words) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if tc.applies != (res.Applies == 1) || tc.applies != (res.PatchID != "") {
				t.Errorf("got %+v", res)
			}
			if tc.words != "" && (len(res.Why) == 0 || !strings.Contains(res.Why[0].Why, tc.words)) {
				t.Errorf("why %+v lacks %q", res.Why, tc.words)
			}
		})
	}
}

func TestBadPatches(t *testing.T) {
	h := open(t, standard)
	id := h.kill("orders", 1, "boom", `{"currency":"EU"}`)[0]
	long := `[{"op":"replace","path":"/currency","value":"` + strings.Repeat("x", gate.MaxPatchBytes) + `"}]`
	for _, patch := range []string{`{}`, `[{"op":"jump","path":"/a"}]`, `[{"op":"add","path":"a","value":1}]`, `[{"op":"add","path":"/a"}]`,
		`[{"op":"add","path":"/a","value":1,"value":2}]`, `[`, `nope`, long, "[{\"op\":\"add\",\"path\":\"/a\",\"value\":\"\xff\"}]"} {
		_, err := h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(patch)})
		refused(t, err, gate.CodeBadArgument, "`patch`")
	}
	_, err := h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id})
	refused(t, err, gate.CodeBadArgument, "exactly one")
	_, err = h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "frozen", ID: id, Patch: gate.RawJSON(`[{"op":"add","path":"/a","value":1}]`)})
	refused(t, err, gate.CodePolicy, "allows no patch")
}

// A hidden value that patch.allow does not name cannot be set, and one that it
// does name makes a message one for approval: setting it mends nothing that
// anybody could see, and is not nothing either.
func TestSetHidden(t *testing.T) {
	direct := `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    handler: {idempotent: true}
    limits: {per_hour: 100}
    rules:
      - {name: poison, when: {error: permanent, patched: false}, do: never}
      - {name: settled, when: {error: transient, patched: false}, do: direct}
    approval: {from: [oncall]}
    patch: {allow: [ALLOW]}
    redact: {paths: [/card], text: ['\b\d{13,19}\b']}
`
	set := []gate.PatchArgs{
		{Patch: gate.RawJSON(`[{"op":"replace","path":"/card","value":"ATTACKER"}]`)},
		{Patch: gate.RawJSON(`[{"op":"add","path":"/card","value":{"n":1}}]`)},
		{MergePatch: gate.RawJSON(`{"card":"ATTACKER"}`)},
	}
	for _, args := range set {
		h := open(t, strings.Replace(direct, "ALLOW", "/currency", 1))
		args.Queue, args.ID = "orders", h.kill("orders", 1, "TimeoutError: x", `{"currency":"EUR","card":"tok-1"}`)[0]
		_, err := h.agent().ProposePatch(t.Context(), args)
		refused(t, err, gate.CodePolicy, `no change of "/card"`)
	}
	for message, want := range map[string]string{"TimeoutError: x": "approval", "unknown currency": "never"} {
		h := open(t, strings.Replace(direct, "ALLOW", "/card", 1))
		id := h.kill("orders", 1, message, `{"currency":"EUR","card":"tok-1"}`)[0]
		for _, value := range []string{"tok-1", "tok-2"} {
			p := must[*gate.PatchResult](t)(h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(`[{"op":"replace","path":"/card","value":"` + value + `"}]`)}))
			if !strings.HasPrefix(p.Decision, want) {
				t.Errorf("%s, %s: the policy says %s, want %s", message, value, p.Decision, want)
			}
		}
		if want == "never" {
			continue
		}
		p := must[*gate.PatchResult](t)(h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(`[{"op":"replace","path":"/card","value":"tok-2"}]`)}))
		res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, PatchID: p.PatchID, Reason: "r"}))
		shown := must[*gate.ShowResult](t)(h.person("ana").Show(t.Context(), res.RequestID, false))
		if res.Status != "pending_approval" || !strings.Contains(shown.Diff, `+ "tok-2"`) || strings.Contains(shown.Diff, "tok-1") {
			t.Errorf("got %+v, and the approver sees %q", res, shown.Diff)
		}
	}
}

// Guesses of hidden values, as many as fit, answer nothing: no answer differs
// between two letters whose hidden values differ.
func TestGuesses(t *testing.T) {
	guesses := []string{"tok-0001", "tok-0002", "4111111111111111", "4000000000000002"}
	patches := []string{
		`[{"op":"add","path":"/x","value":"GUESS"}]`, `[{"op":"add","path":"/GUESS","value":1}]`, `[{"op":"replace","path":"/zz/GUESS","value":1}]`,
		`[{"op":"replace","path":"/note","value":"paid with GUESS"}]`, `[{"op":"replace","path":"/o","value":{"a":"GUESS","b":1}}]`,
		`[{"op":"copy","from":"/note","path":"/x"},{"op":"test","path":"/x","value":"paid with GUESS"}]`,
		`[{"op":"remove","path":"/arr/0"},{"op":"test","path":"/arr/0","value":"GUESS"}]`,
		`[{"op":"replace","path":"/arr","value":["a","GUESS"]}]`, `[{"op":"move","from":"/o","path":"/x"},{"op":"test","path":"/x/a","value":"GUESS"}]`,
	}
	merges := []string{`{"note":"paid with GUESS"}`, `{"o":{"a":"GUESS"}}`, `{"arr":["a","GUESS"]}`, `{"GUESS":null}`}
	answer := func(card, pan string) string {
		h := open(t, strings.Replace(standard, "allow: [/currency, /items/*/sku]", "allow: ['']", 1))
		ids := h.kill("orders", 2, "boom", `{"card":"`+card+`","note":"paid with `+card+`","o":{"a":"`+card+`","b":1},"arr":["a","`+card+`"]}`)
		h.exec(`UPDATE jobs SET payload = ? WHERE id = ?`, `{"card":"`+card+`","note":"paid with `+pan+`","o":{"a":"`+pan+`","b":1},"arr":["a","`+pan+`"]}`, ids[1])
		var b strings.Builder
		ask := func(args gate.PatchArgs) {
			args.Queue, args.IDs, args.ResponseFormat = "orders", ids, "detailed"
			res, err := h.agent().ProposePatch(t.Context(), args)
			data, _ := json.Marshal(res)
			fmt.Fprintf(&b, "%s %v\n", data, err)
		}
		for _, g := range guesses {
			for _, p := range patches {
				ask(gate.PatchArgs{Patch: gate.RawJSON(strings.ReplaceAll(p, "GUESS", g))})
			}
			for _, m := range merges {
				ask(gate.PatchArgs{MergePatch: gate.RawJSON(strings.ReplaceAll(m, "GUESS", g))})
			}
		}
		return regexp.MustCompile(`data [0-9a-f]{16}|p-[a-z0-9]{8}|"expires":"[^"]*"`).ReplaceAllString(b.String(), "…")
	}
	one, two := strings.Split(answer("tok-0001", "4111111111111111"), "\n"), strings.Split(answer("tok-0002", "4000000000000002"), "\n")
	for i := range one {
		if one[i] != two[i] {
			t.Errorf("question %d tells them apart:\n%s\n%s", i, one[i], two[i])
		}
	}
}

// Whatever touches a hidden place is refused: nothing about it can be compared,
// copied, moved or swapped for another, in objects, arrays and empty containers.
func TestHiddenPlacesAreNotTouched(t *testing.T) {
	redact := func(paths, text, allow string) string {
		return `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    handler: {idempotent: true}
    limits: {per_hour: 100}
    rules: [{name: settled, when: {error: transient}, do: direct}]
    approval: {from: [oncall]}
    patch: {allow: [` + allow + `], direct: true, replace: true}
    redact: {paths: [` + paths + `], text: [` + text + `]}
`
	}
	cases := []struct{ name, policy, body, patch, merge string }{
		{"an element beside a hidden one", redact("/cards/*", "", "/cards/0"), `{"cards":["aaa1","bbb2"]}`, `[{"op":"add","path":"/cards/0","value":"x"}]`, ""},
		{"an array with hidden elements", redact("/cards/*", "", "/cards/0"), `{"cards":["aaa1","bbb2"]}`, "", `{"cards":["x"]}`},
		{"objects that hold hidden values", redact("/items/*/card", "", "/items/*/n"), `{"items":[{"card":"a","n":1},{"card":"b","n":2}]}`, "", `{"items":[{"n":1},{"n":3}]}`},
		{"an empty object for a hidden value", redact("/card", "", "/card"), `{"card":"tok-1"}`, "", `{"card":{}}`},
		{"an empty list for a hidden value", redact("/card", "", "/card"), `{"card":null}`, "", `{"card":[]}`},
		{"a name that repeats a hidden value", redact("/card", "", "''"), `{"card":"tok-0001","tok-0001":{}}`, `[{"op":"remove","path":"/tok-0001"}]`, ""},
		{"a pattern across name and value", redact("", `'(?i)password\W+\w+'`, "''"), `{"password":"hunter2","currency":"EU"}`, `[{"op":"copy","from":"/password","path":"/currency"}]`, ""},
		{"a copy of one hidden place to another", redact("", `'\b\d{13,19}\b'`, "''"), `{"a":"4111111111111111","b":"5500000000000004","c":1}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"replace","path":"/c","value":2}]`, ""},
		{"a stand-in for the value", redact("", `'\b\d{13,19}\b'`, "''"), `{"o":{"note":"4111111111111111","z":1}}`, `[{"op":"replace","path":"/o","value":{"note":"[redacted]","z":2}}]`, ""},
		{"a copy of what another step sets", redact("/card", "", "/card, /currency"), `{"currency":"EU","card":"tok-1"}`, `[{"op":"copy","from":"/card","path":"/currency"},{"op":"replace","path":"/card","value":"x"}]`, ""},
		{"a move of what another step sets", redact("/card", "", "/card, /currency"), `{"currency":"EU","card":"tok-1"}`, `[{"op":"move","from":"/card","path":"/currency"},{"op":"add","path":"/card","value":"x"}]`, ""},
		{"a test of what another step sets", redact("/card", "", "/card"), `{"card":"[redacted]"}`, `[{"op":"test","path":"/card","value":"[redacted]"},{"op":"replace","path":"/card","value":"x"}]`, ""},
		{"a removal after setting", redact("/card", "", "/card"), `{"card":"tok-1"}`, `[{"op":"add","path":"/card","value":"x"},{"op":"remove","path":"/card"}]`, ""},
		{"a step below what another sets", redact("/card", "", "/card"), `{"card":{"n":1}}`, `[{"op":"add","path":"/card","value":{"n":1}},{"op":"add","path":"/card/n","value":2}]`, ""},
		{"one hidden element slips to another index", redact("/list/2/x", "", "/list"), `{"list":[{"x":"a"},{"x":"b"},{"x":"tok-1"}]}`, `[{"op":"remove","path":"/list/0"},{"op":"add","path":"/list/-","value":{"x":"c"}}]`, ""},
		{"one hidden element slips by a copy", redact("/list/2/x", "", "/list"), `{"list":[{"x":"a"},{"x":"b"},{"x":"tok-1"}],"y":{}}`, `[{"op":"copy","from":"/y","path":"/list/0"},{"op":"remove","path":"/list/1"}]`, ""},
		{"a list that becomes an object", redact("/cards/*", "", "''"), `{"cards":["aaa1","bbb2"]}`, "", `{"cards":{"0":"x"}}`},
		{"two names that only lone surrogates tell apart", redact("", `'\b\d{13,19}\b'`, "''"), `{"\ud800":"4111111111111111","b":1}`, "", `{"\ud800":"x","\ud801":"y"}`},
		{"elements moved among hidden ones", redact("", `'\b\d{13,19}\b'`, "''"), `{"arr":["4111111111111111","5500000000000004"]}`, `[{"op":"move","from":"/arr/0","path":"/arr/1"}]`, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			h := open(t, tc.policy)
			args := gate.PatchArgs{Queue: "orders", ID: h.kill("orders", 1, "TimeoutError: x", tc.body)[0], Patch: gate.RawJSON(tc.patch), MergePatch: gate.RawJSON(tc.merge)}
			res, err := h.agent().ProposePatch(t.Context(), args)
			if err == nil && (res.Applies > 0 || res.Same > 0 || res.PatchID != "") {
				t.Errorf("got %+v", res)
			}
			if data, _ := json.Marshal(res); strings.Contains(string(data), "hunter2") || err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("it tells %s %v", data, err)
			}
		})
	}
}

// A new body of a letter in which something is hidden counts as another one and
// mends nothing, however the old one was spelled.
func TestNewBodyOfHidden(t *testing.T) {
	h := open(t, `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    rules: [{name: poison, when: {error: permanent, patched: false}, do: never}]
    approval: {from: [oncall]}
    patch: {replace: true, direct: true}
    redact: {text: ['\b\d{13,19}\b']}
`)
	for _, body := range []string{`{"note":"4111111111111111"}`, `{"note":"\u0034111111111111111"}`} {
		id := h.kill("orders", 1, "unknown currency", body)[0]
		for _, guess := range []string{`{"note":"4111111111111111"}`, `{"note":"5500000000000004"}`} {
			res := must[*gate.PatchResult](t)(h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", ID: id, ReplaceBody: &guess}))
			if res.Same != 0 || res.Decision != "never for 1" {
				t.Errorf("%s, %s: got %+v", body, guess, res)
			}
		}
	}
}
