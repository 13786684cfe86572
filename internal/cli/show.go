package cli

import (
	"context"
	"flag"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func showCommand() command {
	return command{
		name: "show", args: "ID", part: partLook,
		short: "show all that an approver needs to see of a request",
		long: "Shows the statement that an approver says yes to, the letters, the byte diff of a patch, what was mended, and " +
			"what was decided. ID may be shortened to any prefix that names one request. --reveal shows what redaction " +
			"hides, as far as the policy grants it to people, and is recorded.",
		example: "redrive-mcp show r-7k2m9q\nredrive-mcp show r-7k --json",
		setup: func(a *app, f *flag.FlagSet) action {
			a.policyFlag(f)
			a.jsonFlag(f)
			reveal := f.Bool("reveal", false, "show what redaction hides, as the policy grants it")
			return func(ctx context.Context, args []string) error {
				return a.person(ctx, func(p *gate.Person) error { return a.show(ctx, p, args[0], *reveal) })
			}
		},
	}
}

func (a *app) show(ctx context.Context, p *gate.Person, id string, reveal bool) error {
	s, err := p.Show(ctx, id, reveal)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	a.printRequest(s.Request)
	a.printShown(s)
	a.nextAfter(s.Request)
	return nil
}

// printShown prints the statement and what stands behind it.
func (a *app) printShown(s *gate.ShowResult) {
	a.heading("statement")
	for _, line := range s.Statement {
		a.printf("  %s\n", oneLine(line))
	}
	a.heading("letters")
	t := table{titles: []string{"ID", "OUTCOME", ">DIED", ">REPLAYS", "ERROR"}}
	for _, l := range s.Letters {
		t.add(cells(l.ID, l.Outcome, a.when(l.Died), some(l.Replays), l.Error.String())...)
	}
	a.table(t)
	if s.More > 0 {
		a.printf("and %s\n", count(s.More, "more letter"))
	}
	if s.Earlier > 0 {
		a.printf("%s redriven before\n", count(s.Earlier, "letter"))
	}
	if s.Diff != "" {
		a.heading("diff")
		a.printDiff(s.Diff)
	}
	if s.Fix != "" {
		a.heading("fix")
		a.printf("  %s\n", oneLine(s.Fix))
	}
	if len(s.Decisions) > 0 {
		a.heading("decisions")
		for _, d := range s.Decisions {
			a.printf("  %s\n", oneLine(d))
		}
	}
}
