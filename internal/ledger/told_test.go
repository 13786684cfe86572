package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

func TestUnaudited(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a", "b", "c", "d", "e"))
	want := func(what, want string) {
		t.Helper()
		got := ""
		outs, err := l.Unaudited(t.Context(), "r-1")
		must(t, err)
		for _, o := range outs {
			got += fmt.Sprintf("%d %s %s; ", o.N, o.State, o.NewID)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	put := func(o ...backends.Outcome) { t.Helper(); must(t, record(t, l, "r-1", o)) }
	audited := func(o ...backends.Outcome) {
		t.Helper()
		must(t, l.Audited(t.Context(), "r-1", o, Head{Log: "l", Seq: 1, Hash: "h"}))
	}
	want("at first", "")
	intend(t, l, "r-1", fence, "t-1", 0, 1)
	want("intended", "")
	put(backends.Outcome{N: 0, State: backends.Done, NewID: "new"})
	want("one of two", "0 done new; ")
	// Two executors record in one batch: that the log has the outcome of one says
	// nothing about the other's.
	put(outcomes(backends.Claimed, 1)...)
	audited(backends.Outcome{N: 0, State: backends.Done})
	want("the other's", "1 claimed ; ")
	put(outcomes(backends.Skipped, 2, 3)...)
	want("never intended", "1 claimed ; 2 skipped ; 3 skipped ; ")
	audited(append(outcomes(backends.Skipped, 2, 3), outcomes(backends.Claimed, 1)...)...)
	want("audited", "")
	intend(t, l, "r-1", fence, "t-2", 1)
	put(outcomes(backends.Doubtful, 1)...)
	audited(outcomes(backends.Claimed, 1)...) // late word of the first try
	want("the second try", "1 unknown ; ")
	audited(outcomes(backends.Doubtful, 1)...)
	must(t, l.Settle(t.Context(), "r-1", outcomes(backends.Done, 1)))
	want("settled", "1 done ; ")
	if h, err := l.Head(t.Context()); h.Seq != 1 || err != nil {
		t.Errorf("head %+v, %v", h, err)
	}
}

// What was sent of a batch is owed as a whole, until the log has all of it.
func TestUnauditedBatch(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a", "b", "c", "d", "e"))
	want := func(what, want string) {
		t.Helper()
		got := ""
		outs, err := l.Unaudited(t.Context(), "r-1")
		must(t, err)
		for _, o := range outs {
			got += fmt.Sprintf("%d %s; ", o.N, o.State)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	audited := func(o ...backends.Outcome) { t.Helper(); must(t, l.Audited(t.Context(), "r-1", o, Head{})) }
	turn := func(b Before, ticket string, ns ...int) error {
		return l.Turn(t.Context(), "r-1", "x-1", fence, b, ticket, ns)
	}
	must(t, turn(Before{}, "t-1", 0, 1))
	want("intended", "")
	wantAs[*MoveError](t, "sent under another ticket", turn(Before{"t-0", outcomes(backends.Done, 0, 1)}, "t-2", 3))
	wantAs[*MoveError](t, "sent and never intended", turn(Before{"t-1", outcomes(backends.Done, 0, 1, 2)}, "t-2", 3))
	want("refused", "")
	first := Before{"t-1", append(outcomes(backends.Done, 0, 1), outcomes(backends.Skipped, 2)...)}
	must(t, turn(first, "t-2", 3, 4))
	want("the first", "0 done; 1 done; 2 skipped; ")
	wantAs[*FenceError](t, "lost", l.Turned(t.Context(), "r-1", fence+1, first, Head{}))
	want("not known to be in the log", "0 done; 1 done; 2 skipped; ")
	must(t, l.Turned(t.Context(), "r-1", fence, first, Head{}))
	want("in the log", "")
	// Somebody else finds what a dead executor left, in two steps.
	must(t, l.tx(t.Context(), func(x *txn) error { return x.done("r-1", "t-2", []int{3, 4}) }))
	want("the second", "3 done; 4 done; ")
	audited(outcomes(backends.Skipped, 2)...)
	want("none of the second", "3 done; 4 done; ")
	audited(outcomes(backends.Done, 4)...)
	want("half of the second", "3 done; 4 done; ")
	audited(outcomes(backends.Done, 3, 4)...)
	want("all of it", "")
}

func TestUntold(t *testing.T) {
	l, clock := newLedger(t)
	want := func(what, want string) {
		t.Helper()
		plans, err := l.Untold(t.Context(), clock.Now())
		must(t, err)
		got := ""
		for _, p := range plans {
			got += fmt.Sprintf("%s %s %q; ", p.ID, p.State, p.Logged)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	told := func(id string, s State) {
		t.Helper()
		must(t, l.Told(t.Context(), id, s, Head{Log: "l", Seq: 3, Hash: "h"}))
	}
	create(t, l, request("r-1"), letters("a"))
	want("made", `r-1 pending ""; `)
	if plans, _ := l.Untold(t.Context(), start.Add(-time.Microsecond)); len(plans) != 0 {
		t.Errorf("before it was made: %+v", plans)
	}
	told("r-1", Pending)
	want("told", "")
	_, err := l.Cancel(t.Context(), "r-1", "w")
	must(t, err)
	want("cancelled", `r-1 cancelled "pending"; `)
	told("r-1", Pending) // late word of the request
	want("still", `r-1 cancelled "pending"; `)
	told("r-1", Cancelled)
	told("r-1", Pending)
	want("told of the end", "")

	fence := running(t, l, request("r-2", approved), letters("b"))
	told("r-2", Approved)
	intend(t, l, "r-2", fence, "t", 0)
	must(t, record(t, l, "r-2", outcomes(backends.Doubtful, 0)))
	want("a run tells for itself", "")
	_, err = l.Finish(t.Context(), "r-2", fence, false, "")
	must(t, err)
	told("r-2", Unknown)
	want("an outcome", `r-2 unknown "unknown"; `)
	must(t, l.Audited(t.Context(), "r-2", outcomes(backends.Doubtful, 0), Head{}))
	must(t, l.Settle(t.Context(), "r-2", outcomes(backends.Done, 0)))
	want("settled", `r-2 done "unknown"; `)
	told("r-2", Done)
	want("an outcome after the end", `r-2 done "done"; `)
	must(t, l.Audited(t.Context(), "r-2", outcomes(backends.Done, 0), Head{}))
	create(t, l, request("r-3", func(p *Plan) { p.Expires = start.Add(time.Minute) }), letters("c"))
	told("r-3", Pending)
	clock.add(time.Hour)
	create(t, l, request("r-4"), letters("d")) // expires r-3 on the way
	told("r-4", Pending)
	want("expired", `r-3 expired "pending"; `)
}

func TestLookUps(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a", "b"))
	intend(t, l, "r-1", fence, "t-1", 0)
	p, err := l.ByDigest(t.Context(), "digest of r-1")
	if p.ID != "r-1" || err != nil {
		t.Errorf("got %+v, %v", p, err)
	}
	_, err = l.ByDigest(t.Context(), "digest of r-2")
	wantIs(t, "no plan", err, ErrNoPlan)
	for ticket, want := range map[string]bool{"t-1": true, "t-2": false} {
		if has, err := l.HasTicket(t.Context(), ticket); has != want || err != nil {
			t.Errorf("%s: %v, %v", ticket, has, err)
		}
	}
	states, err := l.States(t.Context(), "r-1", []int{0, 1, 9})
	if fmt.Sprint(states) != "map[0:intended 1:claimed]" || err != nil {
		t.Errorf("states %v, %v", states, err)
	}
}
