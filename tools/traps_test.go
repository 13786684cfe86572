package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/tools/args"
)

// serve gives a whole input at once and reads all answers, as a shell pipe does.
func (h *house) serve(input string) []string { return h.serveTools(all(), input) }

func (h *house) serveTools(tools []tool, input string) []string {
	h.t.Helper()
	outR, outW := io.Pipe()
	go func() {
		h.done <- serve(context.Background(), h.agent, tools, strings.NewReader(input), outW, Options{Version: "test", Stderr: &h.stderr})
		outW.Close()
	}()
	var lines []string
	s := bufio.NewScanner(outR)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	if err := <-h.done; err != nil {
		h.t.Errorf("Serve = %v", err)
	}
	return lines
}

func callLine(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

// TestPipedInput: everything at once, no newline at the end, and the input is
// over long before the redrive is.
func TestPipedInput(t *testing.T) {
	h := newUnconnected(t)
	lines := h.serve(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + hello + "}\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		callLine("2", "list_queues", `{}`) + "\n" +
		callLine("3", "request_redrive", `{"queue":"mail","id":"1","reason":"the mail server is back"}`))
	if len(lines) != 3 || !strings.Contains(lines[0], `"protocolVersion"`) {
		t.Fatalf("answers %q", lines)
	}
	if !strings.Contains(strings.Join(lines, "\n"), `"status":"done"`) || h.status(1) != "queued" {
		t.Errorf("letter 1 is %s: %q", h.status(1), lines)
	}
}

// TestManyAtOnce: pipelined calls on one store and one log all get their answer.
func TestManyAtOnce(t *testing.T) {
	h := newUnconnected(t)
	var in strings.Builder
	const calls = 60
	for i := range calls {
		switch i % 3 {
		case 0:
			in.WriteString(callLine(fmt.Sprint(i), "group_dead_letters", `{"queue":"mail"}`))
		case 1:
			in.WriteString(callLine(fmt.Sprint(i), "list_dead_letters", `{"queue":"orders","limt":3}`))
		case 2:
			in.WriteString(callLine(fmt.Sprint(i), "request_redrive", `{"queue":"mail","id":"1","reason":"again and again"}`))
		}
		in.WriteByte('\n')
	}
	lines := h.serve(in.String())
	seen, sent := map[string]bool{}, 0
	for _, l := range lines {
		var r reply
		if err := json.Unmarshal([]byte(l), &r); err != nil || r.Error != nil {
			t.Fatalf("answer %q: %v", l, err)
		}
		seen[string(r.ID)] = true
		if strings.Contains(l, `"status":"done"`) {
			sent++
		}
	}
	if len(seen) != calls || len(lines) != calls {
		t.Errorf("%d answers to %d of %d calls", len(lines), len(seen), calls)
	}
	if sent != 1 {
		t.Errorf("%d of the same requests were done", sent)
	}
	if n := h.count("call", "request_redrive"); n != calls/3 {
		t.Errorf("%d requests in the log, want %d", n, calls/3)
	}
}

// TestCancelledCallDoesNotReachTheGate: taken back just before the gate.
func TestCancelledCallDoesNotReachTheGate(t *testing.T) {
	h := newUnconnected(t)
	i := 5 // request_redrive
	tool := all()[i]
	schema, err := tool.schema()
	if err != nil {
		t.Fatal(err)
	}
	called := false
	tool.call = func(*args.Schema, jsontext.Value) (func(context.Context, *gate.Agent) (any, error), error) {
		return func(context.Context, *gate.Agent) (any, error) { called = true; return nil, nil }, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := tool.handler(h.agent, schema)(ctx, mcp.CallToolRequest{})
	if err != nil || !r.IsError || called {
		t.Errorf("result %+v, %v, called %v", r, err, called)
	}
}

// TestCancelledInTheMiddle: however far the call came, the log tells once that it
// was asked and once that it was taken back, and the session goes on.
func TestCancelledInTheMiddle(t *testing.T) {
	h := newUnconnected(t)
	lines := h.serve(callLine(`"r"`, "request_redrive", `{"queue":"mail","id":"1","reason":"the mail server is back"}`) + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r"}}` + "\n" +
		callLine("2", "get_redrive", `{}`))
	if len(lines) > 2 || !strings.Contains(strings.Join(lines, ""), `"id":2,`) {
		t.Errorf("answers %q", lines)
	}
	if asked := h.count("call", "request_redrive") + h.count("call", "tools/call"); asked != 1 {
		t.Errorf("the request is %d times in the log", asked)
	}
	if h.count("call", "notifications/cancelled") != 1 {
		t.Error("that it was taken back is not in the log")
	}
}

func TestInternalErrorTellsNothing(t *testing.T) {
	for what, fail := range map[string]func() (any, error){
		"error": func() (any, error) { return nil, fmt.Errorf("dial secret-dsn: refused") },
		"panic": func() (any, error) { panic("secret-dsn") },
	} {
		h := newUnconnected(t)
		broken := all()[0]
		broken.call = func(*args.Schema, jsontext.Value) (func(context.Context, *gate.Agent) (any, error), error) {
			return func(context.Context, *gate.Agent) (any, error) { return fail() }, nil
		}
		lines := h.serveTools([]tool{broken}, callLine("1", broken.name, `{}`))
		if len(lines) != 1 || !strings.Contains(lines[0], `"internal error `) || !strings.Contains(lines[0], `"isError":true`) || strings.Contains(lines[0], "secret") {
			t.Errorf("%s: answers %q", what, lines)
		}
		if e := h.stderr.String(); !strings.Contains(e, "secret-dsn") {
			t.Errorf("%s: stderr holds %q", what, e)
		}
	}
}

// FuzzArguments gives every tool arguments and compares with a full validator.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"queue":"mail"}`, `{"queue":"mail","id":"1"}`, `{"queue":"mail","ids":["1","2"],"reason":"x"}`, `{"request_id":"r-1"}`,
		`{"queue":"mail","group":"g","as_of":"2026-11-01T00:00:00Z","max_messages":5,"reason":"x","fix":{"ref":"abc","at":"2026-11-01T00:00:00Z"},"dry_run":true}`,
		`{"queue":"mail","id":"1","patch":[{"op":"replace","path":"/id","value":9007199254740993}],"note":"n"}`,
		`{"queue":"mail","filter":{"error_class":"permanent","min_attempts":3},"limit":20,"cursor":"c"}`, `{"QUEUE":"x"}`, `[]`, "\xff",
	} {
		for i := range all() {
			f.Add(byte(i), []byte(s))
		}
	}
	var oracles []*jsonschema.Schema
	var schemas []*args.Schema
	for _, tool := range all() {
		s, err := tool.schema()
		if err != nil {
			f.Fatal(err)
		}
		oracles, schemas = append(oracles, compile(f, tool.input)), append(schemas, s)
	}
	f.Fuzz(func(t *testing.T, which byte, raw []byte) {
		i := int(which) % len(schemas)
		_, err := all()[i].call(schemas[i], jsontext.Value(raw))
		if err != nil {
			return
		}
		if jsontext.Value(raw).Kind() == 'n' || len(raw) == 0 {
			raw = []byte(`{}`)
		}
		v, bad := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
		if bad != nil || oracles[i].Validate(v) != nil {
			t.Errorf("%s took %q", all()[i].name, raw)
		}
	})
}
