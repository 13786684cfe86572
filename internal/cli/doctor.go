package cli

import (
	"context"
	"flag"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func doctorCommand() command {
	return command{
		name: "doctor", part: partCheck,
		short:   "check policy, state folder, log and every store",
		long:    "Checks all that a redrive needs and says what protection this installation gives and what it does not. It changes nothing in a store. Exit code 1 if something is broken.",
		example: "redrive-mcp doctor\nredrive-mcp doctor --json",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			a.jsonFlag(f)
			return func(ctx context.Context, _ []string) error {
				return a.person(ctx, func(p *gate.Person) error { return a.doctor(p.Doctor(ctx)) })
			}
		},
	}
}

func (a *app) doctor(findings []gate.Finding) error {
	broken := false
	styles := map[string]style{"ok": green, "warning": yellow, "error": red}
	for _, f := range findings {
		broken = broken || f.Level == "error"
		if a.json {
			continue
		}
		a.printf("%s  %s\n", a.onOut(styles[f.Level], pad(f.Level, 7)), oneLine(f.What))
		if f.Hint != "" {
			a.printf("%s  %s\n", pad("", 7), a.onOut(dim, "hint: "+oneLine(f.Hint)))
		}
	}
	if a.json {
		if err := a.printJSON(findings); err != nil {
			return err
		}
	}
	if broken {
		return errSaid(exitFailed)
	}
	return nil
}
