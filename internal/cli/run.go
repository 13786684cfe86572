package cli

import (
	"context"
	"flag"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func runCommand() command {
	return command{
		name: "run", args: "[ID]", part: partRun,
		short: "run what is approved",
		long: "Runs one approved request, or takes over one whose executor died; without ID all of them, once each. With " +
			"--watch it stays and runs each as it is approved, until Ctrl-C or SIGTERM, which stop it between two batches.",
		example: "redrive-mcp run r-7k2m9q\nredrive-mcp run --watch --every 5s",
		setup:   setupRun,
	}
}

func setupRun(a *app, f *flag.FlagSet) action {
	a.personFlags(f)
	a.jsonFlag(f)
	watch := f.Bool("watch", false, "stay and run each request as it is approved")
	every := f.Duration("every", 2*time.Second, "with --watch: how often to look, a `DURATION`")
	return func(ctx context.Context, args []string) error {
		switch {
		case *watch && len(args) > 0:
			return wrongUse("run: --watch takes no ID")
		case *every < 100*time.Millisecond:
			return wrongUse("run: --every must be at least 100ms")
		}
		return a.person(ctx, func(p *gate.Person) error {
			switch {
			case *watch:
				return a.watch(ctx, p, *every)
			case len(args) > 0:
				return a.runOne(ctx, p, args[0])
			}
			return a.runOpen(ctx, p)
		})
	}
}

func (a *app) runOne(ctx context.Context, p *gate.Person, id string) error {
	s, err := p.Show(ctx, id, false)
	if err != nil {
		return err
	}
	return a.execute(ctx, p, s.Request)
}

func (a *app) runOpen(ctx context.Context, p *gate.Person) error {
	ran, failed := 0, false
	err := p.RunOpen(ctx, func(r gate.RequestResult, err error) {
		if lostRace(err) {
			return
		}
		ran++
		failed = a.reportRun(r, err) || failed
	})
	switch {
	case err != nil && !interrupted(ctx, err):
		return err
	case ctx.Err() != nil:
		a.warningf("stopped by a signal")
		a.nextf("%s run", program)
		return errSaid(exitFailed)
	case failed:
		return errSaid(exitFailed)
	case ran == 0:
		a.notef("nothing is approved and waiting")
		return errSaid(exitNothing)
	}
	return nil
}

func (a *app) watch(ctx context.Context, p *gate.Person, every time.Duration) error {
	a.notef("running what is approved; Ctrl-C stops between two batches")
	err := p.Watch(ctx, every, func(r gate.RequestResult, err error) {
		if !lostRace(err) {
			a.reportRun(r, err)
		}
	})
	if interrupted(ctx, err) {
		return nil
	}
	return err
}

// reportRun prints one line for one request that ran, and says whether
// something of it needs a person.
func (a *app) reportRun(r gate.RequestResult, err error) (bad bool) {
	if err != nil {
		a.report(err)
		return true
	}
	if a.json {
		if err := a.printJSON(r); err != nil {
			a.report(err)
		}
	} else {
		a.printf("%s  %s  %s  %s\n", oneLine(r.RequestID), oneLine(r.Queue), a.onOut(statusStyle(r.Status), oneLine(r.Status)), tally(r))
		if r.Unknown > 0 {
			a.nextAfter(r)
		}
	}
	return statusError(r) != nil
}
