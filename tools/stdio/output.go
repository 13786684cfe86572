package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// output writes whole lines, one at a time.
type output struct {
	mu     sync.Mutex
	w      io.Writer
	notes  <-chan mcp.JSONRPCNotification
	err    error // the first failure; nothing is written after it
	closed bool
}

// reply is an answer with the request's id as the client wrote it. JSON-RPC has
// null where the id could not be read; MCP's schema leaves it out.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// answer writes the answer to one request, after the notifications that were
// made while it was served.
func (o *output) answer(id jsontext.Value, m mcp.JSONRPCMessage) error {
	data, err := encode(replyTo(id, m))
	if err != nil {
		data, _ = encode(replyTo(id, problem(mcp.INTERNAL_ERROR, "The answer could not be encoded")))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.flush(); err != nil {
		return err
	}
	return o.write(data)
}

// flush writes what the server has to say unasked. That is only ever said while a
// request is served, so it is written before an answer and needs no goroutine,
// which could write it after.
func (o *output) flush() error {
	for {
		select {
		case n := <-o.notes:
			if data, err := encode(n); err == nil {
				if err := o.write(data); err != nil {
					return err
				}
			}
		default:
			return nil
		}
	}
}

// write keeps the first failure: half a line may be out, so that nothing can
// follow it.
func (o *output) write(data []byte) error {
	if o.closed || o.err != nil {
		return o.err
	}
	if _, err := o.w.Write(data); err != nil {
		o.err = fmt.Errorf("writing an answer: %w", err)
	}
	return o.err
}

// close lets nothing more through: the caller may take its writer back.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

func replyTo(id jsontext.Value, m mcp.JSONRPCMessage) reply {
	r := reply{JSONRPC: mcp.JSONRPC_VERSION, ID: json.RawMessage(id)}
	switch m := m.(type) {
	case mcp.JSONRPCResponse:
		r.Result = m.Result
	case mcp.JSONRPCError:
		r.Error = m.Error
	default:
		r.Error = mcp.NewJSONRPCErrorDetails(mcp.INTERNAL_ERROR, "The server gave no answer", nil)
	}
	return r
}

// encode gives one line, with <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func problem(code int, why string) mcp.JSONRPCMessage {
	return mcp.JSONRPCError{Error: mcp.NewJSONRPCErrorDetails(code, why, nil)}
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
