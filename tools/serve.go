package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/tools/stdio"
)

// Options are what a server is started with.
type Options struct {
	Version string    // of this program, as clients are told it
	Stderr  io.Writer // os.Stderr if nil; it gets the stack of a panic and nothing else
}

// Serve answers one client of a until in ends, out breaks or ctx ends; the end
// of in and of ctx are no errors. At the end it closes a, at the latest a second
// after in has ended and while calls are still under way: a client that is gone
// stops no run, so a direct run ends after the batch in hand and the rest is
// released, and its call is answered with that.
func Serve(ctx context.Context, a *gate.Agent, in io.Reader, out io.Writer, o Options) error {
	return serve(ctx, a, all(), in, out, o)
}

func serve(ctx context.Context, a *gate.Agent, tools []tool, in io.Reader, out io.Writer, o Options) error {
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	s, err := newServer(a, tools, o)
	if err != nil {
		return err
	}
	return stdio.Serve(ctx, s, in, out, stdio.Options{
		Hear:      func(ctx context.Context, h stdio.Heard) error { return hear(ctx, a, h) },
		Client:    func(i mcp.Implementation) { a.SetClient(clientName(i), "") },
		Stderr:    o.Stderr,
		Cancelled: gate.ErrCancelled,
		Gone:      a.Leave,
		Ended:     func() { a.Close(context.WithoutCancel(ctx)) }, // without an end it has no error
	})
}

// hear records a message that no call of the gate records. Its error is what the
// client is told in place of an answer, so it says nothing of the cause.
func hear(ctx context.Context, a *gate.Agent, h stdio.Heard) error {
	err := a.Heard(ctx, gate.Message{Method: h.Method, Tool: h.Tool, Err: h.Err})
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[*gate.Refusal](err); ok {
		return r
	}
	return &gate.Refusal{
		Code:     gate.CodeAudit,
		Sentence: "This could not be recorded, so it is not answered. Ask a person to look at the audit log.",
		Cause:    err,
	}
}

// clientName is who a client says it is, printable and short: it stands in the
// log and on approval pages.
func clientName(i mcp.Implementation) string {
	const most = 64
	name := backends.Sanitise(strings.TrimSpace(fmt.Sprintf("%s %s", i.Name, i.Version)))
	name = strings.NewReplacer("\n", " ", "\t", " ").Replace(name)
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return name
}
