package cli

import (
	"context"
	"flag"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func denyCommand() command {
	return command{
		name: "deny", args: "ID", part: partAct,
		short:   "say no to a request, for good",
		long:    "Records a final no. Its letters are free again; the same request by an agent is refused for as long as the policy's deny_for says.",
		example: "redrive-mcp deny r-7k2m9q --reason 'the bank is still down'",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			a.jsonFlag(f)
			reason := f.String("reason", "", "why, in your own `WORDS`; needed")
			return func(ctx context.Context, args []string) error {
				if *reason == "" {
					return wrongUse("deny: --reason is missing").hint("the requester and the audit log read it")
				}
				return a.person(ctx, func(p *gate.Person) error {
					r, err := p.Deny(ctx, args[0], *reason)
					if err != nil {
						return err
					}
					return a.printState(ctx, *r)
				})
			}
		},
	}
}

func cancelCommand() command {
	return command{
		name: "cancel", args: "ID", part: partAct,
		short:   "withdraw a request, or stop one that runs",
		long:    "Withdraws a request that waits, or stops one that runs, between two batches. What was not sent is free again. It works on a full disk.",
		example: "redrive-mcp cancel r-7k2m9q --reason 'wrong group'",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			a.jsonFlag(f)
			reason := f.String("reason", "", "why, in your own `WORDS`")
			return func(ctx context.Context, args []string) error {
				return a.person(ctx, func(p *gate.Person) error {
					r, err := p.CancelRedrive(ctx, gate.CancelArgs{RequestID: args[0], Reason: *reason})
					if err != nil {
						return err
					}
					return a.printStatus(r)
				})
			}
		},
	}
}

// printStatus prints requests whose ending is what was asked for.
func (a *app) printStatus(r *gate.StatusResult) error {
	if a.json {
		return a.printJSON(r)
	}
	for _, q := range r.Requests {
		a.printRequest(q)
	}
	return nil
}

func resolveCommand() command {
	return command{
		name: "resolve", args: "ID", part: partAct,
		short: "settle messages whose outcome is unknown",
		long: "Ends items of which nobody can prove whether they were sent: you looked in the consumer and say which. " +
			"With --sent they count as sent; with --not-sent their letters are free again. Your word is recorded as such.",
		example: "redrive-mcp resolve r-7k2m9q --sent --reason 'all three are in the bank statement'\n" +
			"redrive-mcp resolve r-7k2m9q --not-sent --ids 4711 --reason 'no trace of it in the consumer'",
		setup: setupResolve,
	}
}

func setupResolve(a *app, f *flag.FlagSet) action {
	a.personFlags(f)
	a.jsonFlag(f)
	sent := f.Bool("sent", false, "they were sent")
	notSent := f.Bool("not-sent", false, "they were not sent")
	ids := f.String("ids", "", "only these messages, `A,B` (a composite id is a JSON array); else all unknown ones of the request")
	reason := f.String("reason", "", "how you know, in your own `WORDS`; needed")
	return func(ctx context.Context, args []string) error {
		switch {
		case *sent == *notSent:
			return wrongUse("resolve: exactly one of --sent and --not-sent is needed")
		case *reason == "":
			return wrongUse("resolve: --reason is missing").hint("say how you know; the audit log keeps it")
		}
		return a.person(ctx, func(p *gate.Person) error {
			r, err := p.Settle(ctx, args[0], splitIDs(*ids), *sent, *reason)
			if err != nil {
				return err
			}
			return a.printState(ctx, *r)
		})
	}
}
