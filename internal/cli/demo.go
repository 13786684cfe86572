package cli

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/redrive-mcp/redrive-mcp/internal/demo"
)

func demoCommand() command {
	return command{
		name: "demo", part: partStart,
		short: "see it all work in a minute, on a throw-away table",
		long: "Makes a job table in SQLite, a worker that fails, and a policy; then an agent's session, an approval, " +
			"the redrive and the audit log. It needs no other program and touches nothing else.",
		example: "redrive-mcp demo\nredrive-mcp demo --keep /tmp/redrive-demo",
		setup:   setupDemo,
		subs:    []command{demoWorker()},
	}
}

// demoWorker is the consumer that the demo starts as a process of its own.
func demoWorker() command {
	return command{name: "worker", hidden: true, raw: func(ctx context.Context, _ *app, words []string) error {
		return demo.Worker(ctx, words)
	}}
}

func setupDemo(a *app, f *flag.FlagSet) action {
	keep := f.String("keep", "", "leave everything in `DIR` to play with")
	return func(ctx context.Context, _ []string) error {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program's own file: %w", err)
		}
		return demo.Run(ctx, demo.Options{Self: self, Keep: *keep, Out: a.out, Color: a.outTerm && a.colour})
	}
}
