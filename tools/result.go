package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// success gives the same JSON twice: some clients show a model only the
// structured content, some only the text.
func success(result any) (*mcp.CallToolResult, error) {
	// Empty lists become [] and not null, which the output schemas do not allow.
	data, err := jsonv2.Marshal(result, jsonv1.OmitEmptyWithLegacySemantics(true))
	if err != nil {
		return nil, fmt.Errorf("encoding a result: %w", err)
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(string(data))},
		StructuredContent: json.RawMessage(data),
	}, nil
}

// sentence is what a client may read of an error: a refusal's own words, and of
// everything else only that it happened. ok is false for the latter.
func sentence(ctx context.Context, err error) (text string, ok bool) {
	if r, is := errors.AsType[*gate.Refusal](err); is {
		return r.Sentence, true
	}
	if ctx.Err() != nil {
		return "The call was cut short because the session ends. Ask get_redrive what became of it.", true
	}
	return "", false
}

// unrecorded reports whether the gate did nothing for a call because it was not
// in the log, which is also so if the client took it back at that very moment.
// Then the transport records it, or fails to for the same reason.
func unrecorded(err error) bool {
	r, ok := errors.AsType[*gate.Refusal](err)
	return ok && r.Code == gate.CodeAudit
}
