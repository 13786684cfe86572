package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryMessageIsRecordedOnce sends one of each kind and counts.
func TestEveryMessageIsRecordedOnce(t *testing.T) {
	h := newHouse(t)
	h.ask("initialize", hello)
	h.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	h.ask("tools/list", `{}`)
	h.ask("ping", `{}`)
	h.ask("prompts/list", `{}`)
	h.ask("prompts/get", `{"name":"triage_queue","arguments":{"queue":"mail"}}`)
	h.ask("completion/complete", `{"ref":{"type":"ref/prompt","name":"triage_queue"},"argument":{"name":"queue","value":"m"}}`)
	h.ask("resources/list", `{}`)
	h.call("list_queues", `{}`)
	h.call("list_queues", `{"bogus":1}`)
	h.call("approve", `{}`)
	h.write(`garbage`)
	h.read()
	h.close()
	for tool, want := range map[string]int{
		"initialize": 1, "notifications/initialized": 1, "tools/list": 1, "prompts/list": 1, "prompts/get": 1,
		"completion/complete": 1, "resources/list": 1, "list_queues": 1, "tools/call": 2, "malformed": 1,
	} {
		if got := h.count("call", tool); got != want {
			t.Errorf("%d calls of %s in the log, want %d", got, tool, want)
		}
	}
	for _, r := range h.records() {
		switch {
		case r.Phase != "call":
		case r.Client != "claude-code 2.1" || r.Session != "s1" || !strings.Contains(r.Actor, "for luis"):
			t.Errorf("%s is recorded as of %q, %q, %q", r.Tool, r.Actor, r.Client, r.Session)
		case r.Tool == "malformed" && r.Err == "", r.Tool == "tools/call" && r.Err == "", r.Tool == "resources/list" && r.Err == "":
			t.Errorf("a refusal is recorded without a reason: %s", r.line)
		}
	}
}

// TestNoRecordNoAnswer: where the log cannot be written nothing is told, not even
// the list of tools.
func TestNoRecordNoAnswer(t *testing.T) {
	h := newHouse(t)
	if err := os.WriteFile(h.state(), []byte("not a folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []reply{
		h.ask("initialize", hello), h.ask("tools/list", `{}`), h.ask("prompts/get", `{"name":"triage_queue","arguments":{"queue":"mail"}}`),
	} {
		if r.Error == nil || r.Error.Message == "" || strings.Contains(r.raw, h.folder) {
			t.Errorf("answered %s", r.raw)
		}
	}
	for _, r := range []reply{h.call("list_queues", `{}`), h.call("list_queues", `{"bogus":1}`), h.call("request_redrive", `{"queue":"mail","id":"1","reason":"x"}`)} {
		if !r.Result.IsError || strings.Contains(r.raw, h.folder) || strings.Contains(r.raw, "mail") {
			t.Errorf("answered %s", r.raw)
		}
	}
	if s := h.status(1); s != "failed" {
		t.Errorf("letter 1 is %s", s)
	}
	if _, err := os.Stat(filepath.Join(h.state(), "audit")); err == nil {
		t.Error("there is an audit log after all")
	}
	h.close()
}

func TestPromptsOverTheWire(t *testing.T) {
	h := newHouse(t)
	if r := h.ask("prompts/get", `{"name":"triage_queue"}`); r.Error == nil || r.Error.Code != -32602 || !strings.Contains(r.Error.Message, "`queue` is missing") {
		t.Errorf("without its argument: %s", r.raw)
	}
	if r := h.ask("prompts/get", `{"name":"triage_queue","arguments":{"queue":"mail"}}`); !strings.Contains(r.raw, "dead-letter queue mail") {
		t.Errorf("prompt: %s", r.raw)
	}
	if r := h.ask("completion/complete", `{"ref":{"type":"ref/prompt","name":"triage_queue"},"argument":{"name":"queue","value":"o"}}`); !strings.Contains(r.raw, `"values":["orders"]`) {
		t.Errorf("completion: %s", r.raw)
	}
	h.close()
}

// TestAnnouncesOnlyWhatItDoes: no elicitation, sampling, roots, logging, tasks,
// subscriptions, and lists that never change.
func TestAnnouncesOnlyWhatItDoes(t *testing.T) {
	h := newHouse(t)
	r := h.ask("initialize", hello)
	if !strings.Contains(r.raw, `"capabilities":{"prompts":{},"tools":{},"completions":{}}`) {
		t.Errorf("capabilities: %s", r.raw)
	}
	if !strings.Contains(r.raw, "redrive-mcp works dead-letter queues") {
		t.Errorf("no instructions: %s", r.raw)
	}
	h.close()
}
