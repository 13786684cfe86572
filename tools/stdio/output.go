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

// output writes whole lines, one at a time, on a goroutine of its own: a client
// that does not read what it is sent holds up that one, and everybody else only
// until close.
type output struct {
	w     io.Writer
	notes <-chan mcp.JSONRPCNotification
	lines chan outgoing
	over  chan struct{} // closed when nothing more is written

	mu  sync.Mutex
	end bool
	err error // the first failure
}

// outgoing is a line to write, and who waits until it is.
type outgoing struct {
	data []byte
	done chan<- struct{}
}

func newOutput(w io.Writer, notes <-chan mcp.JSONRPCNotification) *output {
	o := &output{w: w, notes: notes, lines: make(chan outgoing), over: make(chan struct{})}
	go o.work()
	return o
}

func (o *output) work() {
	for {
		select {
		case l := <-o.lines:
			o.flush()
			o.write(l.data)
			close(l.done)
		case <-o.over:
			return
		}
	}
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
// made while it was served, and returns when it is written or never will be.
func (o *output) answer(id jsontext.Value, m mcp.JSONRPCMessage) error {
	data, err := encode(replyTo(id, m))
	if err != nil {
		data, _ = encode(replyTo(id, problem(mcp.INTERNAL_ERROR, "The answer could not be encoded")))
	}
	done := make(chan struct{})
	select {
	case o.lines <- outgoing{data, done}:
	case <-o.over:
		return o.failure()
	}
	select {
	case <-done:
	case <-o.over:
	}
	return o.failure()
}

// flush writes what the server has to say unasked. That is only ever said while a
// request is served, so it is written before an answer.
func (o *output) flush() {
	for {
		select {
		case n := <-o.notes:
			if data, err := encode(n); err == nil {
				o.write(data)
			}
		default:
			return
		}
	}
}

// write keeps the first failure and ends the output with it: half a line may be
// out, so that nothing can follow it.
func (o *output) write(data []byte) {
	if o.closed() {
		return
	}
	if _, err := o.w.Write(data); err != nil {
		o.finish(fmt.Errorf("writing an answer: %w", err))
	}
}

// close lets nothing more through: the caller may take its writer back, but for
// a write that its client does not let end.
func (o *output) close() { o.finish(nil) }

func (o *output) finish(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.end {
		o.end, o.err = true, err
		close(o.over)
	}
}

func (o *output) closed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.end
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
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
