package prompts

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Prompt is one prompt: what a client is shown of it, and its text.
type Prompt struct {
	mcp.Prompt
	// Get fills the text in. Its error is for the client.
	Get func(arguments map[string]string) (*mcp.GetPromptResult, error)
}

// All are the prompts. queues gives the names that a queue argument may have.
func All(queues func() []string) []Prompt {
	return []Prompt{triageQueue(queues)}
}

// maxCompletions is the most that the protocol lets a completion hold.
const maxCompletions = 100

// Completer completes the arguments of prompts.
type Completer struct {
	Queues func() []string
}

// CompletePromptArgument gives the queues that begin with what was typed.
func (c Completer) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	found := &mcp.Completion{Values: []string{}}
	if a.Name != "queue" {
		return found, nil
	}
	for _, q := range c.Queues() {
		if !strings.HasPrefix(q, a.Value) {
			continue
		}
		if found.Total++; len(found.Values) < maxCompletions {
			found.Values = append(found.Values, q)
		}
	}
	found.HasMore = found.Total > len(found.Values)
	return found, nil
}
