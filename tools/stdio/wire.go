package stdio

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// wire is one client's pipe while it is served.
type wire struct {
	server  *server.MCPServer
	options Options
	ctx     context.Context // carries the session
	cancel  context.CancelFunc
	out     *output
	open    pending
	calls   *lane // tools/call
	rest    *lane // everything else
	faults  *faults
}

// take starts what one line asks for. It runs on the reader alone, so whatever
// it does itself happens before the next line is looked at.
func (w *wire) take(l line) {
	if l.tooLong {
		w.reject(message{}, &fault{mcp.INVALID_REQUEST, fmt.Sprintf("The message is larger than %d bytes", w.options.limit)})
		return
	}
	m, bad := parse(l.data)
	switch {
	case bad != nil:
		w.reject(m, bad)
	case m.method == "":
		w.later(m, func() { w.hear(Heard{Method: "response", Err: "nothing was asked"}) })
	case m.id == nil:
		w.notified(m)
	default:
		w.start(m)
	}
}

// start queues a request. initialize is served at once: nothing that was sent
// after it may overtake its answer.
func (w *wire) start(m message) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	if !w.open.add(key(m.id), cancel) {
		cancel(nil)
		w.reject(m, &fault{mcp.INVALID_REQUEST, "A request with this id is still open"})
		return
	}
	lane := w.rest
	switch m.method {
	case string(mcp.MethodInitialize):
		w.serve(ctx, m)
		return
	case string(mcp.MethodToolsCall):
		lane = w.calls
	}
	if !lane.submit(m.size, func() { w.serve(ctx, m) }) {
		w.finish(m, &Call{refused: "too many calls wait"}, m.failure("Too many calls wait already. Send the next ones when these are answered."))
	}
}

// serve answers one request, unless it was taken back meanwhile.
func (w *wire) serve(ctx context.Context, m message) {
	c := &Call{Arguments: m.args, report: func(err error) string { return w.faults.report(err) }}
	if w.open.cancelled(key(m.id)) {
		c.Refused("cancelled before it ran") // it waited in the lane
		w.finish(m, c, nil)
		return
	}
	w.finish(m, c, w.handle(withCall(ctx, c), m))
}

// handle lets the server answer. A panic becomes an answer that says nothing of
// what it was about.
func (w *wire) handle(ctx context.Context, m message) (answer mcp.JSONRPCMessage) {
	defer func() {
		if p := recover(); p != nil {
			why := w.faults.report(p)
			CallFrom(ctx).Refused(why)
			answer = m.failure(why)
		}
	}()
	if m.tool != "" && w.server.GetTool(m.tool) == nil {
		CallFrom(ctx).Refused("no such tool")
		return problem(mcp.INVALID_PARAMS, fmt.Sprintf("There is no tool %s. tools/list has those there are.", label(m.tool)))
	}
	answer = w.server.HandleMessage(ctx, m.forServer())
	if e, ok := answer.(mcp.JSONRPCError); ok {
		return m.readable(e, CallFrom(ctx))
	}
	return answer
}

// finish records a request and only then answers it.
func (w *wire) finish(m message, c *Call, answer mcp.JSONRPCMessage) {
	if !c.recorded {
		if err := w.hear(m.heard(c, answer)); err != nil {
			answer = m.failure(err.Error())
		}
	}
	if w.open.finish(key(m.id)) {
		w.write(m.id, answer)
	}
}

// notified serves a notification. One that takes a request back works before
// anything else is read.
func (w *wire) notified(m message) {
	if m.method == string(mcp.MethodNotificationCancelled) {
		if parts, bad := members(m.params, "requestId"); bad == nil && parts["requestId"] != nil {
			w.open.cancel(key(parts["requestId"]), w.options.Cancelled)
		}
	}
	h := Heard{Method: label(m.method)}
	if m.tool != "" {
		h.Tool = label(m.tool)
	}
	if !strings.HasPrefix(m.method, "notifications/") {
		h.Err = "a request without an id is not served"
	}
	w.later(m, func() { w.hear(h) })
}

// reject answers a message that cannot be served at all. JSON-RPC wants an
// answer even without an id, but none to a notification that can be told as one.
func (w *wire) reject(m message, bad *fault) {
	w.later(m, func() {
		h := Heard{Method: "malformed", Err: bad.why}
		if m.method != "" {
			h.Method = label(m.method)
		}
		if m.tool != "" {
			h.Tool = label(m.tool)
		}
		answer := problem(bad.code, bad.why)
		if err := w.hear(h); err != nil {
			answer = problem(mcp.INTERNAL_ERROR, err.Error())
		}
		if m.id != nil || m.method == "" {
			w.write(m.id, answer)
		}
	})
}

// later runs a job beside the calls; if too many wait, the reader does it itself
// and reads no further meanwhile.
func (w *wire) later(m message, run func()) {
	if !w.rest.submit(m.size, run) {
		run()
	}
}

// hear records a message. It does so for cancelled ones too.
func (w *wire) hear(h Heard) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s", w.faults.report(p))
		}
	}()
	return w.options.Hear(context.WithoutCancel(w.ctx), h)
}

// write sends an answer; a client that no longer reads ends the session.
func (w *wire) write(id jsontext.Value, answer mcp.JSONRPCMessage) {
	if err := w.out.answer(id, answer); err != nil {
		w.cancel()
	}
}
