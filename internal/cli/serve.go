package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"os/signal"
	"syscall"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/tools"
)

func serveCommand() command {
	return command{
		name: "serve", part: partStart,
		short: "serve MCP to an agent over stdin and stdout",
		long: "Serves the tools to one agent over standard input and output until the input ends or SIGTERM comes. " +
			"The policy must be named: an agent's working folder is not a place to find one in. " +
			"Standard error stays quiet but for a fatal error.",
		example: "REDRIVE_POLICY=/etc/redrive/policy.yaml redrive-mcp serve --principal luis\n" +
			"claude mcp add redrive -- redrive-mcp serve --policy /etc/redrive/policy.yaml",
		setup: setupServe,
	}
}

func setupServe(a *app, f *flag.FlagSet) action {
	f.StringVar(&a.policyFile, "policy", "", "the policy `FILE`; else REDRIVE_POLICY")
	principal := f.String("principal", "", "the `NAME` of the person whom the agent acts for")
	return func(ctx context.Context, _ []string) error { return a.serve(ctx, *principal) }
}

func (a *app) serve(ctx context.Context, principal string) error {
	path := a.namedPolicy()
	if path == "" {
		return wrongUse("serve: no policy").hint("name one with --policy FILE or set %s", policyVariable)
	}
	// A client that is gone must not end the process in the middle of a batch, as
	// a write to its pipe would; the input ends too, and that ends the session.
	signal.Ignore(syscall.SIGPIPE)
	g, err := gate.Open(ctx, a.gateOptions(path))
	if err != nil {
		return policyError(err)
	}
	caller := a.caller()
	caller.Principal, caller.Session = principal, a.session()
	agent := g.Agent(caller)
	err = tools.Serve(ctx, agent, a.stdin, a.stdout, tools.Options{Version: a.version()})
	// The session has ended by now; this waits for a batch that takes longer.
	closing := errors.Join(agent.Close(context.WithoutCancel(ctx)), g.Close())
	if interrupted(ctx, err) {
		err = nil
	}
	if err == nil {
		err = closing
	}
	return err
}

// session names one connection. A client that tells its own session's id makes
// the log and its transcript findable from each other.
func (a *app) session() string {
	if id, ok := a.env("CLAUDE_CODE_SESSION_ID"); ok && id != "" && len(id) <= 128 {
		return oneLine(id)
	}
	return rand.Text()[:16]
}
