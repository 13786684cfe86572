package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// fact is how a plan stands before somebody calls: its state, and how far its
// four items are.
type fact struct {
	state State
	items [4]backends.State
	due   bool // its time is up
}

var (
	midway  = [4]backends.State{backends.Claimed, backends.Intended, backends.Doubtful, backends.Done}
	atEnd   = [4]backends.State{backends.Claimed, backends.Done, backends.Skipped, backends.Done}
	settled = [4]backends.State{backends.Done, backends.Done, backends.Doubtful, backends.Done}
)

// put makes a plan that stands like that. Its executor is x-A with fence 1, for
// one more minute; what it intended has the ticket t-<plan>.
func (f fact) put(t testing.TB, l *Ledger, id string) {
	t.Helper()
	p := request(id, approved)
	if f.due {
		p.Expires, p.NotAfter = start, start
	}
	must(t, l.tx(t.Context(), func(x *txn) error {
		x.now = micros(start)
		if err := x.insertPlan(p); err != nil {
			return err
		}
		if err := x.insertItems(p, letters(f.ids(id)...)); err != nil {
			return err
		}
		if _, err := x.Exec(`INSERT INTO batches(ticket, plan, run, physical, n, at) VALUES (?, ?, 'x-A', ?, 3, ?)`, "t-"+id, id, id, micros(start)); err != nil {
			return err
		}
		for n, s := range f.items {
			open := holdsClaim(s) && (f.state.Open() || s != backends.Claimed)
			ticket, intended := "", int64(0)
			if s != backends.Claimed {
				ticket, intended = "t-"+id, micros(start)
			}
			if _, err := x.Exec(`UPDATE items SET state = ?, open = ?, batch = coalesce((SELECT id FROM batches WHERE ticket = ?), 0), intended = ? WHERE plan = ? AND n = ?`, string(s), open, ticket, intended, id, n); err != nil {
				return err
			}
		}
		if _, err := x.Exec(`UPDATE plans SET state = ?, run = 'x-A', fence = 1, lease = ? WHERE id = ?`, string(f.state), micros(start.Add(time.Minute)), id); err != nil {
			return err
		}
		for _, person := range []string{"ana", "eve", "luis"} { // each is about to be confirmed
			if _, err := x.Exec(`INSERT INTO decisions SELECT ?1, ?2 || value, ?2 <> 'eve', ?3, 'none', '', ?4, 1, '' FROM json_each('["A","B"]')`, id, person, p.Digest, micros(start)); err != nil {
				return err
			}
		}
		_, err := x.Exec(`INSERT INTO reserved(plan, physical, n, at) VALUES (?, ?, 1, ?)`, id, id, micros(start))
		return err
	}))
}

// putAll makes many plans that stand like that, as copies of the first.
func (f fact) putAll(t testing.TB, l *Ledger, ids ...string) {
	t.Helper()
	f.put(t, l, ids[0])
	list, err := json.Marshal(ids[1:])
	must(t, err)
	must(t, l.tx(t.Context(), func(x *txn) error {
		for _, table := range tables {
			if _, err := x.Exec(copies(t, x, table), ids[0], string(list)); err != nil {
				return err
			}
		}
		_, err := x.Exec(`UPDATE items SET batch = (SELECT id FROM batches b WHERE b.plan = items.plan) WHERE batch > 0 AND plan IN (SELECT value FROM json_each(?))`, string(list))
		return err
	}))
}

// tables are those with rows of a plan, the ones first that others refer to.
var tables = []string{"frozen", "plans", "batches", "items", "reserved", "decisions"}

// copies is a statement that copies the rows of plan ?1 for the plans in the list
// ?2, with their names for its name.
func copies(t testing.TB, x *txn, table string) string {
	var columns, values string
	must(t, x.QueryRow(`SELECT group_concat(name), group_concat(iif(type = 'TEXT', 'replace('||name||', ?1, copy)', name)) FROM pragma_table_info(?1)
		WHERE ?1 <> 'batches' OR name <> 'id'`, table).Scan(&columns, &values))
	of := map[string]string{"plans": "id"}[table]
	if of == "" {
		of = "plan"
	}
	return "INSERT INTO " + table + "(" + columns + ") SELECT " + values + " FROM " + table + ", (SELECT value AS copy FROM json_each(?2)) WHERE " + of + " = ?1"
}

// wipe removes every plan, so that what looks at all of them stays quick.
func wipe(t testing.TB, l *Ledger) {
	t.Helper()
	must(t, l.tx(t.Context(), func(x *txn) error {
		for _, table := range slices.Backward(tables) {
			if _, err := x.Exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (f fact) ids(plan string) []string {
	ids := make([]string, len(f.items))
	for n := range ids {
		ids[n] = fmt.Sprint(plan, "/", n)
	}
	return ids
}

// dump is everything that the ledger knows of a plan and of plans named after
// it, as text in which the plan is called P.
func dump(t testing.TB, l *Ledger, id string) string {
	t.Helper()
	var out strings.Builder
	for _, q := range []string{
		`SELECT 'plan', id, state, why, decided, ended, run, fence, lease, deny_until, logged FROM plans WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id`,
		`SELECT 'item', plan, n, state, open, coalesce((SELECT ticket FROM batches WHERE batches.id = batch), ''), code, new_id, intended, at, id || ' ' || owed FROM items WHERE plan >= ?1 AND plan < ?1 || '~' ORDER BY plan, n`,
		`SELECT 'batch', plan, ticket, run || ' ' || owed, physical, n, at, '', '', '', '' FROM batches WHERE plan >= ?1 AND plan < ?1 || '~' ORDER BY plan, run, n`,
		`SELECT 'reserved', plan, physical, n, at, '', '', '', '', '', '' FROM reserved WHERE plan >= ?1 AND plan < ?1 || '~' ORDER BY plan`,
		`SELECT 'decision', plan, person, yes, digest, proof, reason, at, seq, hash, '' FROM decisions WHERE plan >= ?1 AND plan < ?1 || '~' ORDER BY plan, person`,
	} {
		rows, err := l.read.Query(q, id)
		must(t, err)
		for rows.Next() {
			cells := make([]any, 11)
			into := make([]any, len(cells))
			for i := range cells {
				into[i] = &cells[i]
			}
			must(t, rows.Scan(into...))
			fmt.Fprintln(&out, cells...)
		}
		must(t, rows.Err())
		rows.Close()
	}
	return strings.ReplaceAll(out.String(), id, "P")
}

// does is one way that a caller, A or B, has to change a plan.
type does func(l *Ledger, id, who string) error

func recordAs(run string, fence int64, n int, s backends.State) does {
	return func(l *Ledger, id, _ string) error {
		stored, err := l.Record(ctx, id, run, fence, outcomes(s, n))
		if err == nil && len(stored) == 0 {
			return errNothing
		}
		return err
	}
}

func confirmAs(yes bool, to State, person string) does {
	return func(l *Ledger, id, who string) error {
		d := Decision{Plan: id, Person: person + who, Digest: "digest of " + id, Yes: yes, At: start}
		_, err := l.Confirm(ctx, d, Head{Log: "l", Seq: 2, Hash: "h" + who}, func([]Decision) (State, time.Time, error) { return to, start.Add(time.Hour), nil })
		return err
	}
}

// calls are all calls that change a plan, the states in which each is no error, and
// what it asks of the items besides. late ones look first whose time is up. to is
// where a call that is no error takes the plan, nil for nowhere.
var calls = []struct {
	name string
	do   does
	in   []State
	asks func(fact) bool
	late bool
	to   func(fact) State
}{
	{name: "cancel", in: []State{Pending, Approved, Running, Stopping}, to: either(Cancelled, Stopping),
		do: func(l *Ledger, id, who string) error { _, err := l.Cancel(ctx, id, "by "+who); return err }},
	{name: "void", in: []State{Approved}, to: either(Void, ""),
		do: func(l *Ledger, id, who string) error { return l.Void(ctx, id, "by "+who) }},
	{name: "decide", in: []State{Pending, Approved}, late: true,
		do: func(l *Ledger, id, who string) error {
			return l.Decide(ctx, Decision{Plan: id, Person: "bo" + who, Digest: "digest of " + id, Yes: true, At: start, Seq: 1})
		}},
	// The log has these, so they stay noted in every state.
	{name: "yes", do: confirmAs(true, Approved, "ana"), in: planStates, late: true, to: whileOpen(Approved)},
	{name: "no", do: confirmAs(false, Denied, "eve"), in: planStates, late: true, to: whileOpen(Denied)},
	{name: "note", do: confirmAs(true, "", "luis"), in: planStates, late: true},
	{name: "start", in: []State{Approved}, late: true, to: either(Running, ""),
		do: func(l *Ledger, id, who string) error {
			_, err := l.Start(ctx, id, "x-"+who, time.Minute, false)
			return err
		}},
	{name: "take over", in: []State{Approved, Running, Stopping}, late: true, to: either(Running, ""),
		do: func(l *Ledger, id, who string) error {
			_, err := l.Start(ctx, id, "x-"+who, time.Minute, true)
			return err
		}},
	{name: "renew", in: []State{Running, Stopping},
		do: func(l *Ledger, id, _ string) error { return l.Renew(ctx, id, 1, time.Hour) }},
	{name: "reserve", in: []State{Running, Stopping},
		do: func(l *Ledger, id, _ string) error { _, err := l.Reserve(ctx, id, 1, id, 4, 3); return err }},
	{name: "intend", in: []State{Running, Stopping}, asks: item(0, backends.Claimed),
		do: func(l *Ledger, id, who string) error { return l.Intend(ctx, id, "x-A", 1, "t-"+id+who, []int{0}) }},
	{name: "intended", in: []State{Running, Stopping},
		do: func(l *Ledger, id, who string) error {
			return l.Intended(ctx, id, 1, Head{Log: "l", Seq: 2, Hash: "h" + who})
		}},
	{name: "turn", in: []State{Running, Stopping}, asks: both(item(1, backends.Intended), item(0, backends.Claimed)),
		do: func(l *Ledger, id, who string) error {
			return l.Turn(ctx, id, "x-A", 1, Before{"t-" + id, outcomes(backends.Done, 1)}, "t-"+id+who, []int{0})
		}},
	{name: "turned", in: []State{Running, Stopping},
		do: func(l *Ledger, id, _ string) error {
			return l.Turned(ctx, id, 1, Before{"t-" + id, outcomes(backends.Done, 3)}, Head{})
		}},
	{name: "finish", in: []State{Running, Stopping}, to: func(f fact) State { return endOf(f.items) },
		asks: func(f fact) bool { return !slices.Contains(f.items[:], backends.Intended) },
		do:   func(l *Ledger, id, _ string) error { _, err := l.Finish(ctx, id, 1, false, "over"); return err }},
	// One that lost its fence may say what became of its own, whatever the plan is.
	{name: "record own", do: recordAs("x-A", 0, 1, backends.Done), in: planStates, asks: item(1, backends.Intended, backends.Sent)},
	{name: "record claimed", do: recordAs("x-A", 1, 0, backends.Skipped), in: planStates, asks: may(0, backends.Skipped)},
	{name: "prove", do: recordAs("x-B", 1, 1, backends.Claimed), in: []State{Running, Stopping}, asks: may(1, backends.Claimed)},
	{name: "settle", in: planStates, asks: settles(2),
		to: func(f fact) State {
			f.items[2] = backends.Skipped
			if f.state != Unknown || slices.Contains(f.items[:], backends.Intended) || slices.Contains(f.items[:], backends.Doubtful) {
				return f.state
			}
			return endOf(f.items)
		},
		do: func(l *Ledger, id, _ string) error { return l.Settle(ctx, id, outcomes(backends.Skipped, 2)) }},
	{name: "tell the end", in: planStates,
		do: func(l *Ledger, id, _ string) error { return l.Told(ctx, id, Cancelled, Head{}) }},
	{name: "audit", in: planStates,
		do: func(l *Ledger, id, _ string) error { return l.Audited(ctx, id, outcomes(backends.Done, 1), Head{}) }},
	{name: "supersede", in: []State{Pending, Approved}, late: true, to: either(Cancelled, ""),
		asks: func(f fact) bool { return f.items[0] == backends.Claimed || unclaimed(0)(f) },
		do: func(l *Ledger, id, who string) error {
			return l.Create(ctx, request(id+"+"+who), letters(id+"/0"), Caps{}, id)
		}},
	{name: "claim", in: planStates, asks: unclaimed(0), late: true,
		do: func(l *Ledger, id, who string) error {
			return l.Create(ctx, request(id+"+"+who), letters(id+"/0"), Caps{})
		}},
	{name: "expire", in: planStates, late: true,
		do: func(l *Ledger, id, _ string) error { _, err := l.Expire(ctx); return err }},
}

// either is one state for a plan that nobody runs yet, and another for one that
// runs, "" for the one it has.
func either(waits, runs State) func(fact) State {
	return func(f fact) State {
		switch {
		case f.state == Pending || f.state == Approved:
			return waits
		case runs == "":
			return f.state
		}
		return runs
	}
}

// whileOpen is a state for a plan that can be decided about.
func whileOpen(s State) func(fact) State { return either(s, "") }

// endOf is where a run ends with these items.
func endOf(items [4]backends.State) State {
	has := func(s backends.State) bool { return slices.Contains(items[:], s) }
	switch {
	case has(backends.Doubtful):
		return Unknown
	case has(backends.Claimed):
		return Halted
	case has(backends.Skipped) || has(backends.Failed):
		return Partial
	}
	return Done
}

func item(n int, in ...backends.State) func(fact) bool {
	return func(f fact) bool { return slices.Contains(in, f.items[n]) }
}

// may asks that an executor may say so of an item: as the one that runs the plan, or
// of its own.
func may(n int, to backends.State) func(fact) bool {
	return func(f fact) bool {
		runs := f.state == Running || f.state == Stopping || item(n, backends.Intended, backends.Sent)(f)
		return runs && wantItemMoves[string(f.items[n])+" "+string(to)]
	}
}

// settles asks that a person may say that an item was not sent, whatever the plan is.
func settles(n int) func(fact) bool {
	return func(f fact) bool { return wantItemMoves[string(f.items[n])+" "+string(backends.Skipped)] }
}

// unclaimed asks that no claim is left of an item, which it keeps while its plan may
// yet send it and as long as it may have been sent.
func unclaimed(n int) func(fact) bool {
	return func(f fact) bool {
		return !holdsClaim(f.items[n]) || f.items[n] == backends.Claimed && !f.state.Open()
	}
}

func both(a, b func(fact) bool) func(fact) bool {
	return func(f fact) bool { return a(f) && b(f) }
}

// now is the fact once somebody has looked whose time is up.
func (f fact) now() fact {
	if f.due && (f.state == Pending || f.state == Approved) {
		f.state = Expired
	}
	return f
}

// allows reports whether a call is no error.
func (f fact) allows(c int) bool {
	call := calls[c]
	if call.late {
		f = f.now()
	}
	return slices.Contains(call.in, f.state) && (call.asks == nil || call.asks(f))
}

// becomes is the state of the plan after a call.
func (f fact) becomes(c int) State {
	call := calls[c]
	if !f.allows(c) {
		return f.state
	}
	if call.late {
		f = f.now()
	}
	if call.to == nil {
		return f.state
	}
	return call.to(f)
}

// facts are every state of a plan with every state of its items, each alone and
// mixed as in the middle and at the end of a run, and with its time up.
func facts() (all []fact) {
	mixed := [][4]backends.State{midway, atEnd, settled}
	for _, s := range itemStates {
		mixed = append(mixed, [4]backends.State{s, s, s, s})
	}
	for _, items := range mixed {
		for _, s := range planStates {
			all = append(all, fact{state: s, items: items})
		}
		all = append(all, fact{state: Pending, items: items, due: true}, fact{state: Approved, items: items, due: true})
	}
	return all
}

// Every call in every state of the plan and of its items: it does what the tables
// of states allow, or it is an error that changes nothing.
func TestCallsInEveryState(t *testing.T) {
	l := openIn(t, memoryState(t), (&frozen{now: start}).Now)
	for _, f := range facts() {
		ids := make([]string, len(calls))
		for c := range calls {
			ids[c] = fmt.Sprintf("r%d-", c)
		}
		if !f.due {
			f.putAll(t, l, ids...)
		}
		before := ""
		for c, id := range ids {
			if f.due { // any call may end it
				f.put(t, l, id)
			}
			if c == 0 {
				before = dump(t, l, id)
			}
			f.call(t, l, c, id, before)
		}
		wipe(t, l)
	}
}

// call does one call on a plan that stands like that, and looks what it did.
func (f fact) call(t *testing.T, l *Ledger, c int, id, before string) {
	t.Helper()
	err := calls[c].do(l, id, "A")
	after := dump(t, l, id)
	if f.allows(c) != (err == nil) {
		t.Errorf("%s of %v: %v", calls[c].name, f, err)
	}
	if err != nil && after != before {
		t.Errorf("%s of %v is refused with %v and changes\n%sto\n%s", calls[c].name, f, err, before, after)
	}
	if got, want := stateIn(after), f.becomes(c); got != want || got != f.state && !wantPlanMoves[string(f.state)+" "+string(got)] {
		t.Errorf("%s of %v takes it to %s, want %s", calls[c].name, f, got, want)
	}
}

// stateIn is the state of plan P in a dump.
func stateIn(dump string) State { return State(strings.Fields(dump)[2]) }
