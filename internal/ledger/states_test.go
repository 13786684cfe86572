package ledger

import (
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

var planStates = []State{Pending, Approved, Running, Stopping, Done, Partial, Halted, Unknown, Denied, Expired, Cancelled, Void}

// The moves as the design draws them, written down a second time: what is not
// here is an error.
var wantPlanMoves = map[string]bool{
	"pending approved": true, "pending denied": true, "pending expired": true, "pending cancelled": true,
	"approved running": true, "approved denied": true, "approved expired": true, "approved cancelled": true, "approved void": true,
	"running running": true, "running stopping": true,
	"running done": true, "running partial": true, "running halted": true, "running unknown": true,
	"stopping stopping": true, "stopping halted": true, "stopping partial": true, "stopping done": true, "stopping unknown": true,
	"unknown done": true, "unknown partial": true, "unknown halted": true,
}

func TestPlanMoves(t *testing.T) {
	l, _ := newLedger(t)
	create(t, l, request("r-moves"), letters("a"))
	for _, from := range planStates {
		for _, to := range planStates {
			want := wantPlanMoves[string(from)+" "+string(to)]
			if got := CanMove(from, to); got != want {
				t.Errorf("CanMove(%s, %s) = %v", from, to, got)
			}
			execSQL(t, l, `UPDATE plans SET state = ?, ended = 0`, string(from))
			execSQL(t, l, `UPDATE items SET open = 1`)
			err := l.timed(t.Context(), func(x *txn) error { return x.move("r-moves", to, "why") })
			p, _ := l.Get(t.Context(), "r-moves")
			if !want {
				wantAs[*MoveError](t, string(from)+" to "+string(to), err)
				if p.State != from || p.Why == "why" && p.State != from {
					t.Errorf("%s to %s was refused and left %s", from, to, p.State)
				}
				continue
			}
			if err != nil || p.State != to || p.Why != "why" {
				t.Errorf("%s to %s: %v, now %s %q", from, to, err, p.State, p.Why)
			}
			if claims, _ := l.Claims(t.Context(), "db/jobs", []string{"a"}); (len(claims) == 1) != to.Open() || p.Ended.IsZero() != to.Open() {
				t.Errorf("%s to %s: claims %v, ended %v", from, to, claims, p.Ended)
			}
		}
	}
}

var itemStates = []backends.State{backends.Claimed, backends.Intended, backends.Sent, backends.Done, backends.Skipped, backends.Failed, backends.Doubtful}

var wantItemMoves = map[string]bool{
	"claimed intended": true, "claimed skipped": true, "claimed failed": true,
	"intended sent": true, "intended done": true, "intended skipped": true, "intended failed": true, "intended unknown": true, "intended claimed": true,
	"sent done": true, "sent unknown": true,
	"unknown done": true, "unknown skipped": true,
}

// Record is tried with every pair; Intended is no outcome, whatever the table says.
func TestItemMoves(t *testing.T) {
	l, _ := newLedger(t)
	create(t, l, request("r-moves"), letters("a"))
	for _, from := range itemStates {
		for _, to := range itemStates {
			want := wantItemMoves[string(from)+" "+string(to)]
			if got := CanMoveItem(from, to); got != want {
				t.Errorf("CanMoveItem(%s, %s) = %v", from, to, got)
			}
			execSQL(t, l, `UPDATE items SET state = ?, open = 1`, string(from))
			err := l.Record(t.Context(), "r-moves", outcomes(to, 0))
			got := allItems(t, l, "r-moves")[0].State
			if !want || to == backends.Intended {
				wantAs[*MoveError](t, string(from)+" to "+string(to), err)
				if got != from {
					t.Errorf("%s to %s was refused and left %s", from, to, got)
				}
				continue
			}
			if err != nil || got != to {
				t.Errorf("%s to %s: %v, now %s", from, to, err, got)
			}
			claims, _ := l.Claims(t.Context(), "db/jobs", []string{"a"})
			if keeps := to == backends.Claimed || to == backends.Sent || to == backends.Doubtful; (len(claims) == 1) != keeps {
				t.Errorf("%s to %s: claims %v", from, to, claims)
			}
		}
	}
}

// Every way that a caller has to change a plan, in every state.
func TestCallsInEveryState(t *testing.T) {
	in := func(list ...State) map[State]bool {
		m := map[State]bool{}
		for _, s := range list {
			m[s] = true
		}
		return m
	}
	decide := func(yes bool, to State) func(*Ledger) error {
		return func(l *Ledger) error {
			return l.Decide(t.Context(), Decision{Plan: "r-1", Person: "ana", Digest: "digest of r-1", Yes: yes, At: start}, to, start)
		}
	}
	fenced := in(Running, Stopping)
	for name, c := range map[string]struct {
		call    func(*Ledger) error
		allowed map[State]bool
	}{
		"cancel": {func(l *Ledger) error { _, err := l.Cancel(t.Context(), "r-1", "w"); return err }, in(Pending, Approved, Running, Stopping)},
		"void":   {func(l *Ledger) error { return l.Void(t.Context(), "r-1", "w") }, in(Approved)},
		"yes":    {decide(true, Approved), in(Pending, Approved)},
		"no":     {decide(false, Denied), in(Pending, Approved)},
		"note":   {decide(true, ""), in(Pending, Approved)},
		"start":  {func(l *Ledger) error { _, err := l.Start(t.Context(), "r-1", "x", 0, true); return err }, in(Approved, Running, Stopping)},
		"renew":  {func(l *Ledger) error { return l.Renew(t.Context(), "r-1", 0, 0) }, fenced},
		"intend": {func(l *Ledger) error { return l.Intend(t.Context(), "r-1", "x", 0, "t", []int{0}) }, fenced},
		"finish": {func(l *Ledger) error { _, err := l.Finish(t.Context(), "r-1", 0, false, ""); return err }, fenced},
		"reserve": {func(l *Ledger) error {
			_, err := l.Reserve(t.Context(), "r-1", 0, "db/jobs#mail", 0, 1)
			return err
		}, fenced},
		"supersede": {func(l *Ledger) error {
			return l.Create(t.Context(), request("r-2"), nil, Caps{}, "r-1")
		}, in(Pending, Approved)},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLedger(t)
			create(t, l, request("r-1"), letters("a"))
			for _, s := range planStates {
				execSQL(t, l, `UPDATE plans SET state = ?, fence = 0 WHERE id = 'r-1'`, string(s))
				execSQL(t, l, `UPDATE items SET state = 'claimed', open = 1`)
				execSQL(t, l, `DELETE FROM decisions`)
				execSQL(t, l, `DELETE FROM batches`)
				execSQL(t, l, `DELETE FROM plans WHERE id = 'r-2'`)
				err := c.call(l)
				if c.allowed[s] != (err == nil) {
					t.Errorf("while %s: %v", s, err)
				}
				if err != nil {
					wantState(t, l, "r-1", s)
				}
			}
		})
	}
}
