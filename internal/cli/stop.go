package cli

import (
	"context"
	"flag"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func stopCommand() command {
	return command{
		name: "stop", part: partRun,
		short: "halt every redrive of everyone, now",
		long: "Halts every redrive that runs between two batches and keeps new ones from starting, for agents and people, " +
			"until `redrive-mcp resume`. It works on a full disk and is recorded as soon as that is possible.",
		example: "redrive-mcp stop --reason 'consumer melts'",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			reason := f.String("reason", "", "why, in your own `WORDS`")
			return func(ctx context.Context, _ []string) error {
				return a.person(ctx, func(p *gate.Person) error {
					if err := p.Stop(ctx, *reason); err != nil {
						return err
					}
					a.printf("stopped: nothing is redriven\n")
					a.nextf("%s resume, once it is safe", program)
					return nil
				})
			}
		},
	}
}

func resumeCommand() command {
	return command{
		name: "resume", part: partRun,
		short:   "take a stop back",
		long:    "Lets redrives start again. What the stop halted is not taken up by itself. Exit code 4 if nothing is stopped.",
		example: "redrive-mcp resume --reason 'consumer is healthy'",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			reason := f.String("reason", "", "why, in your own `WORDS`")
			return func(ctx context.Context, _ []string) error {
				return a.person(ctx, func(p *gate.Person) error { return a.resume(ctx, p, *reason) })
			}
		},
	}
}

func (a *app) resume(ctx context.Context, p *gate.Person, reason string) error {
	if err := p.Resume(ctx, reason); err != nil {
		return err
	}
	a.printf("resumed: redrives may start again\n")
	a.nextf("%s pending", program)
	return nil
}
