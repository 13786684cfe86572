package tools

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestAForeignClientInBothEras talks through a client that is not ours.
func TestAForeignClientInBothEras(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		h := newUnconnected(t)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		go func() {
			h.done <- Serve(context.Background(), h.agent, inR, outW, Options{Version: "test", Stderr: &h.stderr})
			outW.Close()
		}()
		c := client.NewClient(transport.NewIO(outR, inW, io.NopCloser(strings.NewReader(""))), client.WithProtocolVersion(version))
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var hello mcp.InitializeRequest
		hello.Params.ProtocolVersion = version
		hello.Params.ClientInfo = mcp.Implementation{Name: "foreign", Version: "3"}
		if _, err := c.Initialize(t.Context(), hello); err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil || len(list.Tools) != len(all()) {
			t.Errorf("%s: %d tools, %v", version, len(list.Tools), err)
		}
		var call mcp.CallToolRequest
		call.Params.Name = "inspect_dead_letter"
		call.Params.Arguments = map[string]any{"queue": "mail", "id": "1"}
		r, err := c.CallTool(t.Context(), call)
		if err != nil || r.IsError || !strings.Contains(r.Content[0].(mcp.TextContent).Text, "9007199254740993") {
			t.Errorf("%s: %+v, %v", version, r, err)
		}
		c.Close()
		if err := <-h.done; err != nil {
			t.Errorf("%s: Serve = %v", version, err)
		}
		for _, r := range h.records() {
			if r.Phase == "call" && r.Tool == "inspect_dead_letter" && r.Client != "foreign 3" {
				t.Errorf("%s: recorded as of %q", version, r.Client)
			}
		}
	}
}

// TestTwoServersInOneProcess: neither hears or answers for the other.
func TestTwoServersInOneProcess(t *testing.T) {
	houses := map[string]*house{"first 1": newHouse(t), "second 1": newHouse(t)}
	for name, h := range houses {
		h.ask("initialize", strings.Replace(hello, `"claude-code","version":"2.1"`, `"`+strings.TrimSuffix(name, " 1")+`","version":"1"`, 1))
	}
	for name, h := range houses {
		if r := h.call("list_queues", `{}`); r.Result.IsError {
			t.Errorf("%s: %s", name, r.raw)
		}
		h.close()
		for _, r := range h.records() {
			if r.Phase == "call" && r.Client != name {
				t.Errorf("%s is recorded as of %q", r.Tool, r.Client)
			}
		}
	}
}
