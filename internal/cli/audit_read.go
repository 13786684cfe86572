package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

func auditTail() command {
	return command{
		name:    "tail",
		short:   "print the newest records",
		long:    "Prints the newest records, oldest first, a line each; with -f also those that follow, until Ctrl-C. --json prints the lines of the log as they stand.",
		example: "redrive-mcp audit tail\nredrive-mcp audit tail -n 100 -f",
		setup: func(a *app, f *flag.FlagSet) action {
			l := a.logFlags(f)
			a.jsonFlag(f)
			n := f.Int("n", 20, "how many, `N`")
			follow := f.Bool("f", false, "go on with what is appended")
			return func(ctx context.Context, _ []string) error {
				state, err := l.open(a)
				if err != nil {
					return err
				}
				defer state.Close()
				return a.auditTail(ctx, state, *n, *follow)
			}
		},
	}
}

// followEvery is how often -f looks; another process appends, so there is
// nothing to wait on.
const followEvery = 500 * time.Millisecond

func (a *app) auditTail(ctx context.Context, state *durable.Folder, n int, follow bool) error {
	if n < 0 {
		return wrongUse("audit tail: -n must not be negative")
	}
	records, err := audit.Tail(state, n)
	if damaged := errors.Is(err, audit.ErrDamaged); damaged {
		a.warningf("%v", err)
	} else if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	var next uint64
	for _, r := range records {
		a.printRecord(r)
		next = r.Seq + 1
	}
	if !follow {
		return nil
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		for r, err := range audit.Read(ctx, state, audit.Query{From: next}) {
			if err != nil && ctx.Err() == nil && !errors.Is(err, audit.ErrDamaged) {
				return err
			}
			if err == nil {
				a.printRecord(r)
				next = r.Seq + 1
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func auditSearch() command {
	return command{
		name:    "search",
		short:   "print the records that match",
		long:    "Prints the records that match all filters, oldest first. Exit code 4 if none does. --json prints the lines of the log as they stand.",
		example: "redrive-mcp audit search --queue orders --since 2026-12-01T00:00:00Z --phase outcome\nredrive-mcp audit search --contains 4711 --json",
		setup:   setupAuditSearch,
	}
}

func setupAuditSearch(a *app, f *flag.FlagSet) action {
	l := a.logFlags(f)
	a.jsonFlag(f)
	var q audit.Query
	since := f.String("since", "", "at or after `T` (2026-12-01T03:00:00Z)")
	until := f.String("until", "", "before `T`")
	f.StringVar(&q.Queue, "queue", "", "about queue `NAME`")
	f.StringVar(&q.Op, "op", "", "of operation `OP`")
	f.StringVar(&q.Plan, "plan", "", "about the plan with this whole `DIGEST`")
	f.StringVar(&q.Phase, "phase", "", "of this `PHASE`: call, decision, plan, approval, intent, outcome …")
	f.StringVar(&q.Actor, "actor", "", "by this `ACTOR`, as the log names it")
	f.StringVar(&q.Contains, "contains", "", "whose line contains `TEXT`")
	limit := f.Int("limit", 0, "at most `N` records")
	return func(ctx context.Context, _ []string) (err error) {
		if q.Since, err = flagTime("since", *since); err != nil {
			return err
		}
		if q.Until, err = flagTime("until", *until); err != nil {
			return err
		}
		if *limit < 0 {
			return wrongUse("audit search: --limit must not be negative")
		}
		return a.auditSearch(ctx, l, q, *limit)
	}
}

func flagTime(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, wrongUse("--%s must be a time such as 2026-12-01T03:00:00Z, not %s", name, quoted(s))
	}
	return t.UTC(), nil
}

func (a *app) auditSearch(ctx context.Context, l *logFlags, q audit.Query, limit int) error {
	state, err := l.open(a)
	if err != nil {
		return err
	}
	defer state.Close()
	found := 0
	err = a.eachRecord(ctx, state, q, func(r audit.Record) (more bool) {
		a.printRecord(r)
		found++
		return found != limit
	})
	if err != nil {
		return err
	}
	if found == 0 {
		a.notef("no record matches")
		return errSaid(exitNothing)
	}
	return nil
}

// eachRecord goes over the records that match. A person who reads a damaged log
// must see what is there, so lines that are no records are told at the end.
func (a *app) eachRecord(ctx context.Context, state *durable.Folder, q audit.Query, do func(audit.Record) (more bool)) error {
	var first error
	damaged := 0
	for r, err := range audit.Read(ctx, state, q) {
		switch {
		case errors.Is(err, audit.ErrDamaged):
			first = cmp.Or(first, err)
			damaged++
			continue
		case err != nil:
			return err
		}
		if !do(r) {
			break
		}
	}
	if damaged > 0 {
		a.warningf("%s passed over: %v", count(damaged, "line"), first)
	}
	return nil
}

func auditShow() command {
	return command{
		name: "show", args: "OP",
		short:   "print all records of one operation",
		long:    "Prints every record of one operation in full: the call, the decision, the plan, what was intended and what came of it.",
		example: "redrive-mcp audit show o-sh8ajhun\nredrive-mcp audit show o-sh8ajhun --json",
		setup: func(a *app, f *flag.FlagSet) action {
			l := a.logFlags(f)
			a.jsonFlag(f)
			return func(ctx context.Context, args []string) error { return a.auditShow(ctx, l, args[0]) }
		},
	}
}

func (a *app) auditShow(ctx context.Context, l *logFlags, op string) error {
	state, err := l.open(a)
	if err != nil {
		return err
	}
	defer state.Close()
	found := false
	err = a.eachRecord(ctx, state, audit.Query{Op: op}, func(r audit.Record) (more bool) {
		found = true
		if a.json {
			a.printRecord(r)
		} else {
			a.printWhole(r)
		}
		return true
	})
	if err != nil {
		return err
	}
	if !found {
		return fail(exitNothing, "no record has the operation %s", quoted(op)).hint("%s audit search --contains TEXT finds records", program)
	}
	return nil
}

// printRecord prints one record in one line. The log's own line is JSON of
// printable ASCII.
func (a *app) printRecord(r audit.Record) {
	if a.json {
		a.printf("%s\n", r.Raw)
		return
	}
	plan := r.Plan
	if len(plan) > 12 {
		plan = plan[:12]
	}
	parts := []string{fmt.Sprintf("%6d", r.Seq), r.TS.Format("2006-01-02 15:04:05Z"), pad(r.Phase, 8), r.Op}
	for _, s := range []string{r.Actor, r.Tool, r.Queue, r.Effect, r.Outcome, r.Err, plan, items(r.Items), r.Why} {
		if s != "" {
			parts = append(parts, oneLine(s))
		}
	}
	a.printf("%s\n", a.fit(strings.Join(parts, "  "), 0))
}

func items(items []audit.Item) string {
	if len(items) == 0 {
		return ""
	}
	return count(len(items), "message")
}

// printWhole prints all fields of a record.
func (a *app) printWhole(r audit.Record) {
	a.printf("%s\n", a.onOut(bold, fmt.Sprintf("record %d  %s  %s", r.Seq, r.TS.Format(time.RFC3339Nano), r.Phase)))
	a.printFacts([][2]string{
		{"  op", r.Op}, {"  actor", r.Actor}, {"  client", r.Client}, {"  session", r.Session},
		{"  mode", r.Mode}, {"  proof", r.Proof}, {"  tool", r.Tool}, {"  queue", r.Queue},
		{"  policy", r.Policy}, {"  rule", r.Rule}, {"  effect", r.Effect}, {"  why", r.Why},
		{"  plan", r.Plan}, {"  run", r.Run}, {"  outcome", r.Outcome}, {"  err", r.Err},
		{"  host", fmt.Sprintf("%s, process %d", r.Host, r.PID)}, {"  hash", r.Hash},
	})
	for _, arg := range r.Args {
		a.printFacts([][2]string{{"  args." + oneLine(arg.Key), fmt.Sprint(arg.Value)}})
	}
	for _, i := range r.Items {
		a.printf("  item %d  %s\n", i.N, oneLine(strings.Join(strings.Fields(strings.Join([]string{i.ID, i.State, i.Code, i.NewID, i.Commit}, " ")), "  ")))
	}
	a.printf("\n")
}
