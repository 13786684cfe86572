package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func runbookCommand() command {
	return command{
		name: "runbook", args: "QUEUE", part: partCheck,
		short: "print what to know about a queue at night",
		long: "Prints, as Markdown, where the queue's letters are, what a redrive does to one, what the policy lets agents do, " +
			"who may approve, and the commands to work with. It needs no answer of the store.",
		example: "redrive-mcp runbook orders > RUNBOOK.md",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			a.jsonFlag(f)
			return func(ctx context.Context, args []string) error {
				return a.person(ctx, func(p *gate.Person) error { return a.runbook(ctx, p, args[0]) })
			}
		},
	}
}

func (a *app) runbook(ctx context.Context, p *gate.Person, queue string) error {
	b, err := p.Runbook(ctx, queue)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(b)
	}
	a.printf("# Dead letters of %s\n\n", b.Queue)
	a.runbookStore(b)
	a.runbookPolicy(b)
	a.printf("## Work\n\n")
	for _, line := range []string{
		"redrive-mcp letters " + b.Queue + " --groups",
		"redrive-mcp letters " + b.Queue + " --id ID",
		"redrive-mcp redrive " + b.Queue + " --ids ID,ID --reason TEXT",
		"redrive-mcp pending",
		"redrive-mcp approve REQUEST",
		"redrive-mcp stop --reason TEXT",
	} {
		a.printf("    %s\n", line)
	}
	return nil
}

func (a *app) runbookStore(b *gate.Runbook) {
	a.printf("## Store\n\n- kind: %s\n", b.Store)
	if b.Error != "" {
		a.printf("- it does not answer now: %s\n", oneLine(b.Error))
	}
	if b.Target != "" {
		a.printf("- target: `%s`\n", oneLine(b.Target))
	}
	for _, f := range b.Facts {
		a.printf("- %s: %s\n", f.Fact, oneLine(f.Where))
	}
	if b.Effect != "" {
		a.printf("- a redrive: %s\n", oneLine(b.Effect))
	}
	a.printf("- attempts after it: %s\n- pace: %s\n\n", b.Attempts, b.Rate)
}

func (a *app) runbookPolicy(b *gate.Runbook) {
	a.printf("## Policy\n\n")
	for _, r := range b.Rules {
		a.printf("- rule %s\n", oneLine(r))
	}
	a.printf("- where no rule matches: %s\n", b.Redrive)
	if b.Limits != "" {
		a.printf("- without a person: %s\n", b.Limits)
	}
	a.printf("- approval: %s\n", b.Approval)
	a.printf("- a patch may change: %s\n", listOr(b.Patch, "nothing"))
	a.printf("- hidden from agents: %s\n", listOr(b.Hidden, "nothing"))
	for _, f := range b.Freezes {
		a.printf("- freeze %s\n", oneLine(f))
	}
	for _, w := range b.Warnings {
		a.printf("- warning: %s\n", oneLine(w))
	}
	a.printf("\n")
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return oneLine(strings.Join(list, ", "))
}
