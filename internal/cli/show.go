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
			a.personFlags(f)
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
	a.printSummary(s.Request)
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
	a.printLetters(s)
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

// printLetters prints the messages of a request, first those that were not sent.
// A store that does not answer leaves what the request itself knows.
func (a *app) printLetters(s *gate.ShowResult) {
	letters := make(map[string]gate.ShownLetter)
	for _, l := range s.Letters {
		letters[l.ID] = l
	}
	t := table{titles: []string{"ID", "OUTCOME", ">DIED", ">REPLAYS", "NEW ID", "WHY", "ERROR"}}
	for _, i := range unsentFirst(s.Request.Items) {
		l := letters[i.ID]
		t.add(cell{text: i.ID}, cell{i.Outcome, statusStyle(i.Outcome)}, cell{text: a.when(l.Died)},
			cell{text: some(l.Replays)}, cell{text: i.NewID}, cell{text: i.Why}, cell{text: l.Error.String()})
	}
	a.table(t)
	if more := s.Request.Messages - len(t.rows); more > 0 {
		a.printf("and %s more\n", number(more))
	}
}
