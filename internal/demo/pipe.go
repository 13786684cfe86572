package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// pipe is an agent's connection: the server is a process, and its standard
// input and output are the wire.
type pipe struct {
	client *client.Client
	said   *bytes.Buffer // what the server wrote to standard error; complete once closed
}

func (s *story) connect(ctx context.Context) (*pipe, error) {
	p := &pipe{said: &bytes.Buffer{}}
	start := func(ctx context.Context, _ string, _, args []string) (*exec.Cmd, error) {
		cmd := s.process(ctx, args...)
		cmd.Stderr = p.said
		return cmd, nil
	}
	p.client = client.NewClient(transport.NewStdioWithOptions(s.Self, nil,
		[]string{"serve", "--policy", "policy.yaml", "--principal", s.person}, transport.WithCommandFunc(start)))
	if err := p.client.Start(ctx); err != nil {
		return nil, fmt.Errorf("starting serve: %w", err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "demo-agent", Version: "1"}
	if _, err := p.client.Initialize(ctx, hello); err != nil {
		return nil, fmt.Errorf("greeting serve: %w", firstOf(p.close(), err))
	}
	return p, nil
}

// close ends the connection and with it the server, which must have been quiet.
func (p *pipe) close() error {
	if err := p.client.Close(); err != nil {
		return fmt.Errorf("closing the pipe: %w", err)
	}
	if p.said.Len() > 0 {
		return fmt.Errorf("serve complained: %s", p.said)
	}
	return nil
}

// tools are the names of the tools that the agent is offered.
func (p *pipe) tools(ctx context.Context) ([]string, error) {
	list, err := p.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, fmt.Errorf("listing the tools: %w", err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// arguments of a tool.
type arguments map[string]any

// call calls a tool and decodes its answer. A refusal is an error.
func (p *pipe) call(ctx context.Context, tool string, args arguments, into any) error {
	text, refused, err := p.ask(ctx, tool, args)
	switch {
	case err != nil:
		return err
	case refused:
		return fmt.Errorf("%s was refused: %s", tool, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", tool, err)
	}
	return nil
}

// refusal calls a tool that must say no, and gives its sentence.
func (p *pipe) refusal(ctx context.Context, tool string, args arguments) (string, error) {
	text, refused, err := p.ask(ctx, tool, args)
	if err == nil && !refused {
		err = fmt.Errorf("%s was not refused: %s", tool, text)
	}
	return text, err
}

func (p *pipe) ask(ctx context.Context, tool string, args arguments) (text string, refused bool, err error) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, args
	result, err := p.client.CallTool(ctx, request)
	if err != nil {
		return "", false, fmt.Errorf("calling %s: %w", tool, err)
	}
	for _, c := range result.Content {
		if t, ok := c.(mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, result.IsError, nil
}
