package tools

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/prompts"
	"github.com/redrive-mcp/redrive-mcp/tools/args"
	"github.com/redrive-mcp/redrive-mcp/tools/stdio"
)

// newServer has the tools and prompts and announces nothing that it does not do:
// no changing lists, no subscriptions, no tasks, no questions to the client.
func newServer(a *gate.Agent, tools []tool, o Options) (*server.MCPServer, error) {
	s := server.NewMCPServer("redrive-mcp", o.Version,
		server.WithTitle("Dead-letter queues"),
		server.WithInstructions(instructions),
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(prompts.Completer{Queues: a.Queues}),
	)
	for _, t := range tools {
		schema, err := t.schema()
		if err != nil {
			return nil, err
		}
		s.AddTool(t.definition(), t.handler(a, schema))
	}
	for _, p := range prompts.All(a.Queues) {
		s.AddPrompt(p.Prompt, promptHandler(p))
	}
	return s, nil
}

// handler serves calls of a tool. The arguments come from the transport: the
// request that the library decoded has lost digits and duplicates.
func (t *tool) handler(a *gate.Agent, schema *args.Schema) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := stdio.CallFrom(ctx)
		do, err := t.call(schema, c.Arguments)
		if err != nil {
			c.Refused("bad arguments: " + err.Error())
			return mcp.NewToolResultError(err.Error()), nil
		}
		if ctx.Err() != nil { // taken back meanwhile; from here on it is the gate's to stop
			c.Refused("cancelled before it ran")
			return mcp.NewToolResultError("The call was cancelled before it did anything."), nil
		}
		result, err := do(ctx, a)
		if err != nil {
			return mcp.NewToolResultError(t.failed(ctx, c, err)), nil
		}
		c.Recorded()
		return success(result)
	}
}

// failed tells the transport who records a failed call, and gives the sentence
// for the client.
func (t *tool) failed(ctx context.Context, c *stdio.Call, err error) string {
	if unrecorded(err) {
		c.Refused("it was not carried out, because it was taken back or could not be recorded")
	} else {
		c.Recorded()
	}
	if text, ok := sentence(ctx, err); ok {
		return text
	}
	return c.Fail(fmt.Errorf("tool %s: %w", t.name, err))
}

// promptHandler serves a prompt; what is wrong with its arguments is the
// client's fault and told as such.
func promptHandler(p prompts.Prompt) server.PromptHandlerFunc {
	return func(ctx context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		result, err := p.Get(r.Params.Arguments)
		if err != nil {
			stdio.CallFrom(ctx).BadParams(err.Error())
			return nil, err
		}
		return result, nil
	}
}
