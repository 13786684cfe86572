package stdio

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	workers   = 32       // tool calls at once
	others    = 4        // other messages at once, so that a ping passes slow calls
	queue     = 1000     // messages that may wait, of each kind
	queueSize = 64 << 20 // and their bytes
	grace     = 10 * time.Second
	linger    = 8 * time.Second
)

// Heard is one message of a client, for the record. All of it is short and
// printable.
type Heard struct {
	Method string // "malformed" where there is none, "response" for an answer
	Tool   string // for tools/call
	Err    string // why it was refused, our own words; empty if it was served
}

// Options are what a pipe is served with.
type Options struct {
	// Hear records a message that no handler has said to be Recorded. Its error
	// is shown to the client in place of the answer.
	Hear func(context.Context, Heard) error
	// Client is told who the client says it is. It may be nil.
	Client func(mcp.Implementation)
	// Stderr gets internal errors; the client is told their number.
	Stderr io.Writer
	// Gone is called once, as soon as nothing more is read: the client is gone, or
	// it piped its calls in and reads the answers. It may be nil.
	Gone func()
	// Ended is called once, when the calls under way are answered or have had
	// eight seconds, so that what they left running can be stopped. Serve waits for
	// it as long as for requests. It may be nil.
	Ended func()
	// Cancelled is the cause that ends the context of a request which the client
	// took back; context.Canceled if nil.
	Cancelled error

	grace  time.Duration // default if zero; so too the next two
	linger time.Duration
	limit  int // bytes of a line
}

// Serve answers the messages of in on out until in ends, a write fails or ctx
// ends. Requests under way at the end get ten seconds; when ctx ends, theirs end
// with it, and answers that nobody reads get ten seconds too. The end of the
// input and of ctx are no errors.
func Serve(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer, o Options) error {
	if o.grace == 0 {
		o.grace = grace
	}
	if o.linger == 0 {
		o.linger = linger
	}
	if o.limit == 0 {
		o.limit = maxLine
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newSession(o.Client)
	w := &wire{
		server: s, options: o,
		ctx: s.WithContext(ctx, c), cancel: cancel,
		out:   newOutput(out, c.notes),
		calls: newLane(workers, queue, queueSize), rest: newLane(others, queue, queueSize),
		faults: &faults{to: o.Stderr},
	}
	defer w.out.close()
	// The reader itself may wait for a client that does not read its answers.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(o.grace, w.out.close) })()
	err := w.read(in)
	w.drain()
	if e := w.out.failure(); e != nil {
		return e
	}
	return err
}

// read takes messages until there are no more or the context ends.
func (w *wire) read(in io.Reader) error {
	lines, end := make(chan line), make(chan error, 1)
	go func() {
		end <- readLines(in, w.options.limit, func(l line) bool {
			select {
			case lines <- l:
				return true
			case <-w.ctx.Done():
				return false
			}
		})
	}()
	for {
		select {
		case l := <-lines:
			w.take(l)
		case err := <-end:
			if err != nil {
				return fmt.Errorf("reading a message: %w", err)
			}
			return nil
		case <-w.ctx.Done():
			return nil
		}
	}
}

// drain waits for the requests under way and for Ended, but not for ever.
func (w *wire) drain() {
	if w.options.Gone != nil {
		w.options.Gone()
	}
	calls, rest, told := w.calls.close(), w.rest.close(), make(chan struct{})
	go func() {
		defer close(told)
		w.tellEnd(calls)
	}()
	late := time.NewTimer(w.options.grace)
	defer late.Stop()
	for _, done := range []<-chan struct{}{calls, rest, told} {
		select {
		case <-done:
		case <-late.C:
			return
		}
	}
}

// tellEnd calls Ended once the calls are done or have had their time.
func (w *wire) tellEnd(calls <-chan struct{}) {
	if w.options.Ended == nil {
		return
	}
	late := time.NewTimer(w.options.linger)
	defer late.Stop()
	select {
	case <-calls:
	case <-late.C:
	case <-w.ctx.Done():
	}
	w.options.Ended()
}
