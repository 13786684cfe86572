package cli

import (
	"cmp"
	"context"
	"flag"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func pendingCommand() command {
	return command{
		name: "pending", part: partLook,
		short:   "list requests that wait for somebody",
		long:    "Lists the requests that wait for a decision, for an executor, or for a person to settle what is unknown. It asks no store.",
		example: "redrive-mcp pending\nredrive-mcp pending --json",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			a.jsonFlag(f)
			return func(ctx context.Context, _ []string) error {
				return a.person(ctx, func(p *gate.Person) error { return a.pending(ctx, p) })
			}
		},
	}
}

func (a *app) pending(ctx context.Context, p *gate.Person) error {
	r, err := p.Pending(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	if len(r.Requests) == 0 {
		a.notef("nothing waits")
		return nil
	}
	slices.SortStableFunc(r.Requests, func(x, y gate.RequestResult) int { return cmp.Compare(y.Unknown, x.Unknown) })
	t := table{titles: []string{"REQUEST", "STATUS", "QUEUE", ">MESSAGES", ">SENT", ">UNKNOWN", "NEEDS", ">EXPIRES", "RULE"}}
	for _, q := range r.Requests {
		t.add(cell{text: q.RequestID}, cell{q.Status, statusStyle(q.Status)}, cell{text: q.Queue},
			cell{text: number(q.Messages)}, cell{text: some(q.Sent)}, cell{some(q.Unknown), red},
			cell{text: q.Who}, cell{text: a.when(q.Expires)}, cell{text: q.Rule})
	}
	a.table(t)
	if first := r.Requests[0]; first.Status == statusPending {
		a.nextf("%s show %s", program, oneLine(first.RequestID))
	} else {
		a.nextAfter(first)
	}
	return nil
}
