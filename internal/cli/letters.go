package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func lettersCommand() command {
	return command{
		name: "letters", args: "QUEUE", part: partLook,
		short: "list, group or inspect dead letters",
		long: "Lists the dead letters of a queue, newest first and without payloads; with --groups counts them by error; " +
			"with --id shows one in full. What the policy redacts is hidden; --reveal shows as much of it as the policy " +
			"grants to people, and that is recorded.",
		example: "redrive-mcp letters orders --groups\n" +
			"redrive-mcp letters orders --class transient --since 2026-12-01T02:00:00Z --limit 50\n" +
			"redrive-mcp letters orders --id 4711 --reveal",
		setup: setupLetters,
	}
}

// lettersFlags are the flags of letters.
type lettersFlags struct {
	filter gate.Filter
	asOf   string
	limit  int
	cursor string
	groups bool
	id     string
	reveal bool
	offset int
}

func setupLetters(a *app, f *flag.FlagSet) action {
	var l lettersFlags
	a.policyFlag(f)
	a.jsonFlag(f)
	f.StringVar(&l.filter.Group, "group", "", "only error group `G`")
	f.StringVar(&l.filter.ErrorClass, "class", "", "only `C`: permanent, transient, not_failed or unknown")
	f.StringVar(&l.filter.Job, "job", "", "only the job `J`")
	f.StringVar(&l.filter.ErrorContains, "contains", "", "only where the error, as shown, contains `TEXT`")
	f.IntVar(&l.filter.MinAttempts, "min-attempts", 0, "only after at least `N` attempts")
	f.StringVar(&l.filter.Since, "since", "", "only those that died at or after `T` (2026-12-01T03:00:00Z)")
	f.StringVar(&l.filter.Until, "until", "", "only those that died before `T`")
	f.StringVar(&l.asOf, "as-of", "", "the listing as it was at `T`")
	f.IntVar(&l.limit, "limit", 0, "at most `N` letters or groups")
	f.StringVar(&l.cursor, "cursor", "", "go on where an earlier listing ended: its cursor `C`")
	f.BoolVar(&l.groups, "groups", false, "count by error group")
	f.StringVar(&l.id, "id", "", "show one letter, by its `ID`")
	f.BoolVar(&l.reveal, "reveal", false, "with --id: show what redaction hides, as the policy grants it")
	f.IntVar(&l.offset, "offset", 0, "with --id: pass over `N` characters of the payload")
	return func(ctx context.Context, args []string) error {
		if err := l.check(); err != nil {
			return err
		}
		return a.person(ctx, func(p *gate.Person) error { return a.letters(ctx, p, args[0], l) })
	}
}

func (l *lettersFlags) check() error {
	switch {
	case l.id != "" && l.groups:
		return wrongUse("letters: --id and --groups exclude each other")
	case l.id == "" && (l.reveal || l.offset != 0):
		return wrongUse("letters: --reveal and --offset need --id")
	case l.groups && l.cursor != "":
		return wrongUse("letters: groups have no cursor")
	}
	return nil
}

// narrowed is the filter, nil if nothing is set.
func (l *lettersFlags) narrowed() *gate.Filter {
	if l.filter == (gate.Filter{}) {
		return nil
	}
	return &l.filter
}

func (a *app) letters(ctx context.Context, p *gate.Person, queue string, l lettersFlags) error {
	switch {
	case l.id != "":
		return a.inspect(ctx, p, gate.InspectArgs{Queue: queue, ID: l.id, Offset: l.offset, Reveal: l.reveal, ResponseFormat: gate.Detailed})
	case l.groups:
		return a.groups(ctx, p, gate.GroupArgs{Queue: queue, AsOf: l.asOf, Filter: l.narrowed(), Limit: l.limit})
	}
	return a.list(ctx, p, gate.ListArgs{Queue: queue, AsOf: l.asOf, Filter: l.narrowed(), Limit: l.limit, Cursor: l.cursor})
}

func (a *app) list(ctx context.Context, p *gate.Person, args gate.ListArgs) error {
	r, err := p.List(ctx, args)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	if len(r.Letters) == 0 {
		a.notef("no letter fits (%s looked at)", number(r.Scanned))
		a.nextPage(r.Cursor)
		return nil
	}
	t := table{titles: []string{"ID", ">DIED", "TRIES", "CLASS", "GROUP", ">REPLAYS", "CLAIMED BY", "ERROR"}}
	says := labels(r.Text, len(r.Letters))
	for i, l := range r.Letters {
		t.add(cells(l.ID, a.when(l.Died), l.Attempts, l.Class, l.Group, some(l.Replays), l.Claimed, says[i])...)
	}
	a.table(t)
	a.notef("as of %s", r.AsOf)
	if !a.nextPage(r.Cursor) {
		a.nextf("%s letters %s --id %s", program, oneLine(args.Queue), word(r.Letters[0].ID))
	}
	return nil
}

func (a *app) nextPage(cursor string) bool {
	if cursor == "" {
		return false
	}
	a.nextf("the same with --cursor %s shows more", oneLine(cursor))
	return true
}

func size(bytes int) string {
	if bytes < 0 {
		return "?"
	}
	return number(bytes)
}

func (a *app) groups(ctx context.Context, p *gate.Person, args gate.GroupArgs) error {
	r, err := p.Group(ctx, args)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	if len(r.Groups) == 0 {
		a.notef("no letter fits (%s looked at)", number(r.Scanned))
		return nil
	}
	t := table{titles: []string{">LETTERS", "GROUP", "CLASS", ">LAST", "POLICY", "ERROR"}}
	says := labels(r.Text, len(r.Groups))
	for i, g := range r.Groups {
		effect, _, _ := strings.Cut(g.Policy, " ")
		t.add(cells(number(g.Count), g.Group, g.Class, a.when(g.Last), effect, says[i])...)
	}
	a.table(t)
	if r.Others > 0 {
		a.printf("and %s with %s\n", count(r.Others, "more group"), count(r.OtherSum, "letter"))
	}
	a.notef("%s looked at, as of %s", count(r.Scanned, "letter"), r.AsOf)
	g := r.Groups[0]
	a.nextf("%[1]s letters %[2]s --group %[3]s, or %[1]s redrive %[2]s --group %[3]s --as-of %[4]s --max %[5]d --reason TEXT --dry-run",
		program, oneLine(args.Queue), word(g.Group), r.AsOf, g.Count)
	return nil
}
