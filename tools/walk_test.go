package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1"}}`

// TestFromQueuesToRedrive walks the way an agent goes, and holds every result
// against its output schema.
func TestFromQueuesToRedrive(t *testing.T) {
	h := newHouse(t)
	h.ask("initialize", hello)
	check := validators(t)
	do := func(tool, args string) map[string]any {
		t.Helper()
		r := h.call(tool, args)
		if r.Result.IsError || r.Error != nil {
			t.Fatalf("%s %s: %s", tool, args, r.raw)
		}
		return check(tool, r)
	}
	if q := do("list_queues", `{"response_format":"detailed"}`)["queues"].([]any); len(q) != 3 {
		t.Errorf("queues %v", q)
	}
	g := do("group_dead_letters", `{"queue":"mail"}`)
	group := g["groups"].([]any)[0].(map[string]any)
	if group["count"] != json.Number("2") {
		t.Errorf("group %v", group)
	}
	if l := do("list_dead_letters", `{"queue":"mail","limit":1}`); l["next_cursor"] == nil {
		t.Errorf("list %v", l)
	}
	letter := do("inspect_dead_letter", `{"queue":"mail","id":"1"}`)
	if text := letter["text"].(string); !strings.Contains(text, "9007199254740993") {
		t.Errorf("text %q", text)
	}
	p := do("propose_patch", `{"queue":"mail","id":"1","merge_patch":{"id":9007199254740995}}`)
	if text := p["text"].(string); !strings.Contains(text, "9007199254740995") {
		t.Errorf("digits were lost on the way: %q", text)
	}
	if d := do("request_redrive", `{"queue":"mail","id":"1","reason":"the mail server is back","dry_run":true}`); d["status"] != "dry_run" {
		t.Errorf("dry run %v", d)
	}
	r := do("request_redrive", `{"queue":"mail","id":"1","reason":"the mail server is back","patch_id":"`+p["patch_id"].(string)+`"}`)
	if r["status"] != "done" || h.status(1) != "queued" {
		t.Errorf("redrive %v, status %s", r, h.status(1))
	}
	do("get_redrive", `{"request_id":"`+r["request_id"].(string)+`"}`)

	w := do("request_redrive", `{"queue":"orders","id":"3","reason":"the currency is known now"}`)
	if w["status"] != "pending_approval" || h.status(3) != "failed" {
		t.Errorf("request %v, status %s", w, h.status(3))
	}
	if open := do("get_redrive", `{}`)["requests"].([]any); len(open) != 1 {
		t.Errorf("open requests %v", open)
	}
	c := do("cancel_redrive", `{"request_id":"`+w["request_id"].(string)+`","reason":"asked too early"}`)
	if c["requests"].([]any)[0].(map[string]any)["status"] != "cancelled" {
		t.Errorf("cancelled %v", c)
	}
	h.close()
}

// validators checks a result: it fits its schema, and text and structured
// content are the same facts.
func validators(t *testing.T) func(string, reply) map[string]any {
	schemas := map[string]*jsonschema.Schema{}
	for _, tool := range all() {
		schemas[tool.name] = compile(t, tool.output)
	}
	return func(tool string, r reply) map[string]any {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(r.Result.StructuredContent)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas[tool].Validate(v); err != nil {
			t.Errorf("%s does not fit its output schema: %v\n%s", tool, err, r.raw)
		}
		var structured, text any
		json.Unmarshal(r.Result.StructuredContent, &structured)
		if err := json.Unmarshal([]byte(r.text()), &text); err != nil {
			t.Errorf("%s: the text is no JSON: %v", tool, err)
		}
		a, _ := json.Marshal(structured)
		b, _ := json.Marshal(text)
		if string(a) != string(b) {
			t.Errorf("%s: text and structured content differ:\n%s\n%s", tool, a, b)
		}
		if strings.Contains(r.text(), `\u003c`) {
			t.Errorf("%s: the text is escaped for HTML", tool)
		}
		return v.(map[string]any)
	}
}

func TestRefusalsAreSentences(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct{ tool, args, want string }{
		{"request_redrive", `{"queue":"orders","id":"4","reason":"try again"}`, "poison"},
		{"request_redrive", `{"queue":"locked","id":"5","reason":"try again"}`, "never"},
		{"request_redrive", `{"queue":"mail","id":"1"}`, "`reason` is missing"},
		{"inspect_dead_letter", `{"queue":"mail","id":"999"}`, "999"},
		{"group_dead_letters", `{"queue":"nosuch"}`, "nosuch"},
		{"list_dead_letters", `{"queue":"mail","limit":1000}`, "`limit` must be 1 to 100, got 1000"},
		{"list_dead_letters", `{"Queue":"mail"}`, "unknown argument `Queue`; did you mean `queue`?"},
		{"list_dead_letters", `{"queue":"mail","queue":"orders"}`, "twice"},
		{"inspect_dead_letter", `{"queue":"mail","id":7}`, "`id` must be a string such as \"7\", got a number"},
		{"inspect_dead_letter", `{"queue":"mail","id":"1","confirm":true,"inputResponses":{}}`, "unknown argument `confirm`"},
		{"get_redrive", `{"request_id":"r-nosuch"}`, "r-nosuch"},
		{"propose_patch", "{\"queue\":\"mail\",\"id\":\"1\",\"replace_body\":\"\xff\"}", "not valid JSON in UTF-8"},
		{"propose_patch", `{"queue":"mail","id":"1","replace_body":"` + strings.Repeat("x", 10<<20) + `"}`, "at most"},
		{"request_redrive", `{"queue":"mail","ids":["` + strings.Repeat(`1","`, 200) + `1"],"reason":"x"}`, "`ids` holds 201 ids; at most 200 a call"},
		{"list_queues", `[]`, "`arguments` must be an object, got a list"},
	} {
		r := h.call(c.tool, c.args)
		if r.Error != nil || !r.Result.IsError || r.Result.StructuredContent != nil {
			t.Errorf("%s %.60s: %.300s", c.tool, c.args, r.raw)
		}
		if !strings.Contains(r.text(), c.want) || len(r.text()) > 1000 {
			t.Errorf("%s %.60s\n got %s\nwant %s", c.tool, c.args, r.text(), c.want)
		}
		for _, bad := range []string{"approve ", "--", "redrive-mcp ", "policy.yaml", h.folder} {
			if strings.Contains(r.text(), bad) {
				t.Errorf("%s %.60s tells %q: %s", c.tool, c.args, bad, r.text())
			}
		}
	}
	h.close()
}

func TestNothingHiddenGetsOut(t *testing.T) {
	h := newHouse(t)
	for _, c := range [][2]string{
		{"list_queues", `{"response_format":"detailed"}`},
		{"group_dead_letters", `{"queue":"orders"}`},
		{"list_dead_letters", `{"queue":"orders","response_format":"detailed"}`},
		{"inspect_dead_letter", `{"queue":"orders","id":"3"}`},
		{"inspect_dead_letter", `{"queue":"orders","id":"4"}`},
		{"propose_patch", `{"queue":"orders","id":"3","patch":[{"op":"test","path":"/card","value":"4111111111111111"}]}`},
	} {
		r := h.call(c[0], c[1])
		if strings.Contains(r.raw, "41111111") && !strings.Contains(c[1], "41111111") {
			t.Errorf("%s shows a hidden value: %s", c[0], r.raw)
		}
		if strings.ContainsAny(r.text(), "\x1b") || strings.Contains(r.raw, `\u001b`) {
			t.Errorf("%s lets a terminal escape through: %s", c[0], r.raw)
		}
	}
	for _, r := range h.records() {
		if strings.Contains(r.line, "41111111") {
			t.Errorf("the audit log holds a hidden value: %s", r.line)
		}
	}
	h.close()
}

// TestResultOfNothing: empty lists are lists.
func TestResultOfNothing(t *testing.T) {
	r, err := success(&gate.StatusResult{Next: "a <b> & c"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.StructuredContent.(json.RawMessage)); got != `{"requests":[],"next":"a <b> & c"}` {
		t.Errorf("got %s", got)
	}
	full, err := success(&gate.GroupResult{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(full.StructuredContent.(json.RawMessage)); strings.Contains(got, "other_groups") || !strings.Contains(got, `"groups":[]`) {
		t.Errorf("got %s", got)
	}
}
