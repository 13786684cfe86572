package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

const (
	askedDigest = 4 // characters of the digest that a person types
	leastDigest = 8 // characters of the digest that --digest needs
)

func approveCommand() command {
	return command{
		name: "approve", args: "ID", part: partAct,
		short: "say yes to exactly what is shown, and run it",
		long: "Prints the whole statement and the diff, asks for the first characters of the plan's digest, records the " +
			"approval of these bytes and runs them at once with a progress bar. Ctrl-C stops between two batches and says " +
			"how to go on. Without a terminal nothing can be asked: --digest names the plan that was looked at before (at " +
			"least 8 of its hex digits), or --yes approves what this call prints. With --json only --digest does, because " +
			"nothing is printed to say yes to.",
		example: "redrive-mcp approve r-7k2m9q\n" +
			"redrive-mcp approve r-7k2m9q --digest 6f1c9a02 --note 'checked with payments' --no-run",
		setup: setupApprove,
	}
}

type approveFlags struct {
	noRun, yes bool
	digest     string
	note       string
}

func setupApprove(a *app, f *flag.FlagSet) action {
	var o approveFlags
	a.personFlags(f)
	a.jsonFlag(f)
	f.BoolVar(&o.noRun, "no-run", false, "leave the running to redrive-mcp run")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.StringVar(&o.digest, "digest", "", "approve only the plan whose digest begins with `HEX`, without asking")
	f.StringVar(&o.note, "note", "", "a `TEXT` that is recorded with the approval")
	return func(ctx context.Context, args []string) error {
		if err := a.checkApprove(&o); err != nil {
			return err
		}
		return a.person(ctx, func(p *gate.Person) error { return a.approve(ctx, p, args[0], o) })
	}
}

func (a *app) checkApprove(o *approveFlags) error {
	o.digest = strings.ToLower(strings.ReplaceAll(o.digest, "-", ""))
	switch {
	case o.digest != "" && (len(o.digest) < leastDigest || strings.Trim(o.digest, "0123456789abcdef") != ""):
		return wrongUse("approve: --digest needs at least %d hex digits", leastDigest)
	case o.digest == "" && a.json:
		return wrongUse("approve: --json needs --digest").hint("%s show ID --json has the digest", program)
	case o.digest == "" && !o.yes && !a.inTerm:
		return wrongUse("approve: there is no terminal to ask at").
			hint("look with %s show ID, then give --digest HEX, or --yes", program)
	}
	return nil
}

func (a *app) approve(ctx context.Context, p *gate.Person, id string, o approveFlags) error {
	s, err := p.Show(ctx, id, false)
	if err != nil {
		return err
	}
	if !a.json {
		a.printShown(s)
	}
	if err := a.confirm(s.Request, o); err != nil {
		return err
	}
	r, err := p.Approve(ctx, s.Request.RequestID, s.Request.Digest, o.note)
	if err != nil {
		return err
	}
	if r.Status == statusApproved && !o.noRun {
		return a.execute(ctx, p, *r)
	}
	if !a.json {
		a.heading("decision")
	}
	if r.Status == statusPending {
		a.notef("%s", oneLine(r.Next)) // it takes more people
	}
	return a.printResult(ctx, *r)
}

// confirm makes sure that the one who approves looked at this plan.
func (a *app) confirm(r gate.RequestResult, o approveFlags) error {
	if o.digest != "" {
		if strings.HasPrefix(r.Digest, o.digest) {
			return nil
		}
		return fail(exitFailed, "the plan's digest is another: nothing was approved").
			hint("the request may have been replaced; look at it with %s show %s", program, oneLine(r.RequestID))
	}
	if o.yes {
		return nil
	}
	answer, err := a.ask("\napprove? type the first 4 characters of the digest:")
	if err != nil {
		return err
	}
	if len(r.Digest) < askedDigest || !strings.EqualFold(answer, r.Digest[:askedDigest]) {
		return fail(exitFailed, "not approved: the answer is not the beginning of the digest").
			hint("%s deny %s --reason TEXT says no for good", program, oneLine(r.RequestID))
	}
	return nil
}
