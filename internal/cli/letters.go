package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
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

	refresh bool
}

func setupLetters(a *app, f *flag.FlagSet) action {
	var l lettersFlags
	a.personFlags(f)
	a.jsonFlag(f)
	f.StringVar(&l.filter.Group, "group", "", "only error group `G`")
	f.StringVar(&l.filter.ErrorClass, "class", "", "only `C`: permanent, transient, not_failed or unknown")
	f.StringVar(&l.filter.Job, "job", "", "only the job `J`")
	f.StringVar(&l.filter.ErrorContains, "contains", "", "only where the error, as shown, contains `TEXT`")
	f.IntVar(&l.filter.MinAttempts, "min-attempts", 0, "only after at least `N` attempts")
	f.StringVar(&l.filter.Since, "since", "", "only those that died at or after `T` (2026-12-01T03:00:00Z)")
	f.StringVar(&l.filter.Until, "until", "", "only those that died before `T`")
	f.StringVar(&l.asOf, "as-of", "", "the listing as it was at `T`")
	f.Func("limit", "at most `N` letters or groups", l.setLimit)
	f.StringVar(&l.cursor, "cursor", "", "go on where an earlier listing ended: its cursor `C`")
	f.BoolVar(&l.groups, "groups", false, "count by error group")
	f.BoolVar(&l.refresh, "refresh", false, "look at the queue again, where looking takes letters for a moment (SQS)")
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

// setLimit refuses 0, which the gate would take for no limit given.
func (l *lettersFlags) setLimit(text string) (err error) {
	if l.limit, err = strconv.Atoi(text); err != nil || l.limit < 1 {
		return errors.New("a whole number of 1 or more is needed")
	}
	return nil
}

func (l *lettersFlags) check() error {
	switch {
	case l.id != "" && l.groups:
		return wrongUse("letters: --id and --groups exclude each other")
	case l.id == "" && (l.reveal || l.offset != 0):
		return wrongUse("letters: --reveal and --offset need --id")
	case l.refresh && (l.cursor != "" || l.id != ""):
		return wrongUse("letters: --refresh goes with a listing from its start")
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
		return a.groups(ctx, p, gate.GroupArgs{Queue: queue, AsOf: l.asOf, Filter: l.narrowed(), Limit: l.limit, Refresh: l.refresh})
	}
	return a.list(ctx, p, gate.ListArgs{Queue: queue, AsOf: l.asOf, Filter: l.narrowed(), Limit: l.limit, Cursor: l.cursor, Refresh: l.refresh})
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
		a.lookNotes(r.Look)
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
	a.lookNotes(r.Look)
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
		a.lookNotes(r.Look)
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
	a.lookNotes(r.Look)
	a.nextAfterGroups(r)
	return nil
}

// lookNotes says how old what is shown is, in a store that is looked at as a
// whole, and what was not seen.
func (a *app) lookNotes(l *gate.LookInfo) {
	if l == nil {
		return
	}
	seen := number(l.Seen)
	if l.Total != nil {
		seen += " of about " + number(*l.Total)
	}
	switch {
	case l.Running:
		a.notef("a look is under way: %s seen so far", seen)
	case l.AsOf != "":
		a.notef("looked at %s: %s seen; --refresh looks again", l.AsOf, seen)
	}
	for _, note := range l.Notes {
		a.notef("%s", note)
	}
}

// nextAfterGroups says how to look at the largest group and how to redrive it,
// as many letters at a time as the policy takes in one request.
func (a *app) nextAfterGroups(r *gate.GroupResult) {
	g, most, cut := r.Groups[0], r.Groups[0].Count, ""
	if r.Most > 0 && most > r.Most {
		most, cut = r.Most, fmt.Sprintf(" (at most %s at a time)", number(r.Most))
	}
	a.nextf("%[1]s letters %[2]s --group %[3]s, or %[1]s redrive %[2]s --group %[3]s --as-of %[4]s --max %[5]d --reason TEXT --dry-run%[6]s",
		program, oneLine(r.Queue), word(g.Group), r.AsOf, most, cut)
}
