package cli

import (
	"cmp"
	"context"
	"flag"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func queuesCommand() command {
	return command{
		name: "queues", part: partLook,
		short: "what is dead and what waits: the night screen",
		long: "One row a queue: how many letters, the oldest, when the first expires, open requests with the time left " +
			"to decide, and what the last one came to. Messages whose outcome is unknown come first, because only a " +
			"person can settle them.",
		example: "redrive-mcp queues\nredrive-mcp queues --rules",
		setup:   setupQueues,
	}
}

func setupQueues(a *app, f *flag.FlagSet) action {
	a.personFlags(f)
	a.jsonFlag(f)
	onlyNames := f.Bool("names", false, "print only the names, one a line, without asking a store")
	rules := f.Bool("rules", false, "also print what the policy says of each queue")
	return func(ctx context.Context, _ []string) error {
		return a.person(ctx, func(p *gate.Person) error {
			if *onlyNames {
				a.printf("%s\n", strings.Join(p.Queues(), "\n"))
				return nil
			}
			return a.queues(ctx, p, *rules)
		})
	}
}

func (a *app) queues(ctx context.Context, p *gate.Person, rules bool) error {
	args := gate.QueuesArgs{}
	if rules {
		args.ResponseFormat = gate.Detailed
	}
	r, err := p.ListQueues(ctx, args)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	slices.SortStableFunc(r.Queues, byUrgency)
	a.printAlarms(r)
	t := table{titles: []string{"QUEUE", ">LETTERS", ">OLDEST", ">EXPIRES", ">OPEN", ">LEFT", "REDRIVE", "LAST"}}
	for _, q := range r.Queues {
		t.add(a.queueRow(q)...)
	}
	a.table(t)
	if rules {
		a.printRules(r.Queues)
	}
	a.nextAfterQueues(r)
	return nil
}

// byUrgency puts first what only a person can settle, then what waits for one.
func byUrgency(x, y gate.QueueInfo) int {
	return cmp.Or(
		cmp.Compare(y.Unknown, x.Unknown),
		cmp.Compare(y.Pending, x.Pending),
		cmp.Compare(y.Count(), x.Count()),
		cmp.Compare(x.Queue, y.Queue),
	)
}

func (a *app) printAlarms(r *gate.QueuesResult) {
	alarm := false
	for _, q := range r.Queues {
		if q.Unknown > 0 {
			a.printf("%s\n", a.onOut(red, "UNKNOWN  "+oneLine(q.Queue)+": "+count(q.Unknown, "message")+" may or may not have been sent"))
			alarm = true
		}
	}
	if r.Stopped != "" {
		a.printf("%s\n", a.onOut(red, "STOPPED  "+oneLine(r.Stopped)))
		alarm = true
	}
	if alarm {
		a.printf("\n")
	}
}

func (a *app) queueRow(q gate.QueueInfo) []cell {
	if q.Error != "" {
		row := cells(q.Queue, "?", "", "", some(q.Open), left(q.TimeLeft), q.Redrive)
		return append(row, cell{q.Error, red})
	}
	many := number(q.Count())
	if q.AtLeast {
		many = "≥ " + many
	}
	row := cells(q.Queue, many, a.when(q.Oldest), a.when(q.Expires), some(q.Open), left(q.TimeLeft), q.Redrive, a.last(q.Last))
	if q.Unknown > 0 {
		row[0].style = red
	} else if q.Pending > 0 {
		row[4].style, row[5].style = yellow, yellow
	}
	return row
}

func (a *app) printRules(queues []gate.QueueInfo) {
	for _, q := range queues {
		a.heading(oneLine(q.Queue))
		if len(q.Rules) == 0 {
			a.printf("  no rules: %s\n", oneLine(q.Redrive))
		}
		for _, rule := range q.Rules {
			a.printf("  %s\n", oneLine(rule))
		}
		if len(q.Patch) > 0 {
			a.printf("  a patch may change %s\n", oneLine(strings.Join(q.Patch, ", ")))
		}
		for _, w := range q.Warnings {
			a.printf("  %s %s\n", a.onOut(yellow, "warning:"), oneLine(w))
		}
	}
}

func (a *app) nextAfterQueues(r *gate.QueuesResult) {
	switch first := firstQueue(r.Queues); {
	case r.Stopped != "":
		a.nextf("%s resume, once it is safe", program)
	case first == nil:
		a.notef("nothing is dead")
	case first.Unknown > 0, first.Pending > 0:
		a.nextf("%s pending", program)
	case first.Count() > 0:
		a.nextf("%s letters %s --groups", program, oneLine(first.Queue))
	case slices.ContainsFunc(r.Queues, func(q gate.QueueInfo) bool { return q.Error != "" }):
		a.nextf("%s doctor says more about a store that does not answer", program)
	default:
		a.notef("nothing is dead")
	}
}

func firstQueue(queues []gate.QueueInfo) *gate.QueueInfo {
	if len(queues) == 0 {
		return nil
	}
	return &queues[0]
}
