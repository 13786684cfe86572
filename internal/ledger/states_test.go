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
	running(t, l, request("r-moves", approved), letters("a"))
	for _, from := range itemStates {
		for _, to := range itemStates {
			want := wantItemMoves[string(from)+" "+string(to)]
			if got := CanMoveItem(from, to); got != want {
				t.Errorf("CanMoveItem(%s, %s) = %v", from, to, got)
			}
			execSQL(t, l, `UPDATE items SET state = ?, open = 1`, string(from))
			err := record(t, l, "r-moves", outcomes(to, 0))
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

func TestFollows(t *testing.T) {
	for _, c := range []struct {
		was, now State
		want     bool
	}{
		{Pending, Pending, true}, {Pending, Done, true}, {Approved, Running, true}, {Running, Stopping, true}, {Stopping, Halted, true}, {Unknown, Done, true}, {Pending, Void, true},
		{Approved, Pending, false}, {Running, Approved, false}, {Stopping, Running, false}, {Done, Running, false}, {Denied, Pending, false}, {Done, Unknown, false}, {Cancelled, Expired, false},
	} {
		if got := Follows(c.was, c.now); got != c.want {
			t.Errorf("%s can be %s by now: %v", c.was, c.now, got)
		}
	}
	for _, c := range []struct {
		was, now backends.State
		want     bool
	}{
		{backends.Claimed, backends.Done, true}, {backends.Claimed, backends.Intended, true}, {backends.Sent, backends.Done, true}, {backends.Doubtful, backends.Skipped, true},
		{backends.Done, backends.Intended, false}, {backends.Done, backends.Claimed, false}, {backends.Sent, backends.Intended, false}, {backends.Skipped, backends.Claimed, false}, {backends.Doubtful, backends.Intended, false},
	} {
		if got := ItemFollows(c.was, c.now); got != c.want {
			t.Errorf("%s can be %s by now: %v", c.was, c.now, got)
		}
	}
}
