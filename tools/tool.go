package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/tools/args"
)

// tool is one tool: what a client is shown of it, and its call of the gate.
type tool struct {
	name, title, description string
	input, output            string // JSON Schema
	hints                    hints
	call                     callFunc
}

// hints tell a client what a tool may do, in MCP's four annotations. They bind
// nobody: the policy does. openWorld also says that the answer may hold text of
// strangers.
type hints struct {
	readOnly, destructive, idempotent, openWorld bool
}

// callFunc decodes arguments and gives the call of the gate that they make.
type callFunc func(*args.Schema, jsontext.Value) (func(context.Context, *gate.Agent) (any, error), error)

// calls makes a callFunc of a method of the gate's agent.
func calls[A, R any](method func(*gate.Agent, context.Context, A) (*R, error)) callFunc {
	return func(s *args.Schema, raw jsontext.Value) (func(context.Context, *gate.Agent) (any, error), error) {
		a, err := args.Decode[A](s, raw)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, agent *gate.Agent) (any, error) {
			r, err := method(agent, ctx, a)
			if err != nil {
				return nil, err
			}
			return r, nil
		}, nil
	}
}

// all are the tools in the order in which they are used.
func all() []tool {
	return []tool{
		listQueues, groupDeadLetters, listDeadLetters, inspectDeadLetter,
		proposePatch, requestRedrive, getRedrive, cancelRedrive,
	}
}

// definition is what tools/list shows.
func (t *tool) definition() mcp.Tool {
	h := t.hints
	return mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		RawInputSchema: json.RawMessage(t.input), RawOutputSchema: json.RawMessage(t.output),
		Annotations: mcp.ToolAnnotation{
			ReadOnlyHint: &h.readOnly, DestructiveHint: &h.destructive,
			IdempotentHint: &h.idempotent, OpenWorldHint: &h.openWorld,
		},
	}
}

// schema is the input schema as the decoder uses it.
func (t *tool) schema() (*args.Schema, error) {
	s, err := args.Parse(t.input)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", t.name, err)
	}
	return s, nil
}
