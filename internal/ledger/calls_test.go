package ledger

import (
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

// calls are all calls, and the states of a plan in which it is not an error. What else it
// asks of the items is true where they are midway, but for finish, which asks
// that nothing is in doubt.
var calls = []struct {
	name string
	do   does
	in   []State
}{
	{"cancel", func(l *Ledger, id, who string) error { _, err := l.Cancel(ctx, id, "by "+who); return err }, []State{Pending, Approved, Running, Stopping}},
	{"void", func(l *Ledger, id, who string) error { return l.Void(ctx, id, "by "+who) }, []State{Approved}},
	{"decide", func(l *Ledger, id, who string) error {
		return l.Decide(ctx, Decision{Plan: id, Person: "bo" + who, Digest: "digest of " + id, Yes: true, At: start, Seq: 1})
	}, []State{Pending, Approved}},
	// The log has these, so they stay noted in every state.
	{"yes", confirmAs(true, Approved, "ana"), planStates},
	{"no", confirmAs(false, Denied, "eve"), planStates},
	{"note", confirmAs(true, "", "luis"), planStates},
	{"start", func(l *Ledger, id, who string) error {
		_, err := l.Start(ctx, id, "x-"+who, time.Minute, false)
		return err
	}, []State{Approved}},
	{"take over", func(l *Ledger, id, who string) error {
		_, err := l.Start(ctx, id, "x-"+who, time.Minute, true)
		return err
	}, []State{Approved, Running, Stopping}},
	{"renew", func(l *Ledger, id, _ string) error { return l.Renew(ctx, id, 1, time.Hour) }, []State{Running, Stopping}},
	{"reserve", func(l *Ledger, id, _ string) error { _, err := l.Reserve(ctx, id, 1, id, 4, 3); return err }, []State{Running, Stopping}},
	{"intend", func(l *Ledger, id, who string) error { return l.Intend(ctx, id, "x-A", 1, "t-"+id+who, []int{0}) }, []State{Running, Stopping}},
	{"turn", func(l *Ledger, id, who string) error {
		return l.Turn(ctx, id, "x-A", 1, Before{"t-" + id, outcomes(backends.Done, 1)}, "t-"+id+who, []int{0})
	}, []State{Running, Stopping}},
	{"turned", func(l *Ledger, id, _ string) error {
		return l.Turned(ctx, id, 1, Before{"t-" + id, outcomes(backends.Done, 3)}, Head{})
	}, []State{Running, Stopping}},
	{"finish", func(l *Ledger, id, _ string) error { _, err := l.Finish(ctx, id, 1, false, "over"); return err }, nil},
	// One that lost its fence may say what became of its own, whatever the plan is.
	{"record own", recordAs("x-A", 0, 1, backends.Done), planStates},
	{"record claimed", recordAs("x-A", 1, 0, backends.Skipped), []State{Running, Stopping}},
	{"prove", recordAs("x-B", 1, 1, backends.Claimed), []State{Running, Stopping}},
	{"settle", func(l *Ledger, id, _ string) error { return l.Settle(ctx, id, outcomes(backends.Skipped, 2)) }, planStates},
	{"tell the end", func(l *Ledger, id, _ string) error { return l.Told(ctx, id, Cancelled, Head{}) }, planStates},
	{"audit", func(l *Ledger, id, _ string) error { return l.Audited(ctx, id, outcomes(backends.Done, 1), Head{}) }, planStates},
	{"supersede", func(l *Ledger, id, who string) error {
		return l.Create(ctx, request(id+"+"+who), letters(id+"/0"), Caps{}, id)
	}, []State{Pending, Approved}},
	{"claim", func(l *Ledger, id, who string) error {
		return l.Create(ctx, request(id+"+"+who), letters(id+"/0"), Caps{})
	}, []State{Done, Partial, Halted, Unknown, Denied, Expired, Cancelled, Void}},
	{"expire", func(l *Ledger, id, _ string) error { _, err := l.Expire(ctx); return err }, planStates},
}

// Every call in every state: it does what the table of states allows, or it is
// an error that changes nothing.
func TestCallsInEveryState(t *testing.T) {
	l := openIn(t, memoryState(t), (&frozen{now: start}).Now)
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			for i, s := range planStates {
				id := fmt.Sprint("r-", strings.ReplaceAll(c.name, " ", ""), i)
				fact{state: s, items: midway}.put(t, l, id)
				before := dump(t, l, id)
				err := c.do(l, id, "A")
				after := dump(t, l, id)
				if slices.Contains(c.in, s) != (err == nil) {
					t.Errorf("while %s: %v", s, err)
				}
				if err != nil && after != before {
					t.Errorf("while %s it is refused with %v and changes\n%sto\n%s", s, err, before, after)
				}
				if got := stateIn(after); got != s && !wantPlanMoves[string(s)+" "+string(got)] {
					t.Errorf("it takes a plan from %s to %s", s, got)
				}
			}
		})
	}
}

// stateIn is the state of plan P in a dump.
func stateIn(dump string) State { return State(strings.Fields(dump)[2]) }
