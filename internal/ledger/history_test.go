package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// send runs a plan of one letter to an outcome and a new id.
func send(t *testing.T, l *Ledger, plan, id, newID string, end backends.State) {
	t.Helper()
	fence := running(t, l, request(plan, approved), letters(id))
	intend(t, l, plan, fence, "t-"+plan, 0)
	must(t, record(t, l, plan, []backends.Outcome{{N: 0, State: end, NewID: newID}}))
	_, err := l.Finish(t.Context(), plan, fence, false, "")
	must(t, err)
}

func TestReplays(t *testing.T) {
	l, clock := newLedger(t)
	send(t, l, "r-1", "a", "b", backends.Done)
	clock.add(time.Minute)
	send(t, l, "r-2", "b", "c", backends.Done)
	clock.add(time.Minute)
	send(t, l, "r-3", "c", "", backends.Done)
	send(t, l, "r-4", "c", "", backends.Done)
	send(t, l, "r-5", "gone", "", backends.Skipped)
	send(t, l, "r-6", "back", "", backends.Claimed)
	send(t, l, "r-7", "maybe", "", backends.Doubtful)
	create(t, l, request("r-8"), letters("asked"))
	// Ids that come round again.
	send(t, l, "r-9", "x", "y", backends.Done)
	send(t, l, "r-10", "y", "x", backends.Done)
	send(t, l, "r-11", "self", "self", backends.Done)

	ask := []string{"a", "b", "c", "gone", "back", "maybe", "asked", "x", "y", "self", "none"}
	got, err := l.Replays(t.Context(), "db/jobs", ask)
	must(t, err)
	for id, want := range map[string]int{"a": 1, "b": 2, "c": 4, "gone": 0, "back": 0, "maybe": 1, "asked": 0, "x": 2, "y": 2, "self": 1, "none": 0} {
		if got[id].Count != want {
			t.Errorf("%s was sent %d times, want %d", id, got[id].Count, want)
		}
	}
	if !got["a"].Last.Equal(start) || !got["c"].Last.Equal(start.Add(2*time.Minute)) {
		t.Errorf("last: %v, %v", got["a"].Last, got["c"].Last)
	}
	if other, _ := l.Replays(t.Context(), "db/other", ask); len(other) != 0 {
		t.Errorf("elsewhere: %v", other)
	}

	earlier, err := l.Earlier(t.Context(), "db/jobs", "c")
	must(t, err)
	var plans []string
	for _, e := range earlier {
		plans = append(plans, e.Plan)
	}
	slices.Sort(plans[2:]) // the last two are of one moment
	if fmt.Sprint(plans) != "[r-1 r-2 r-3 r-4]" || earlier[0].State != backends.Done || !earlier[1].At.Equal(start.Add(time.Minute)) {
		t.Errorf("earlier: %+v", earlier)
	}
}

func TestUnaudited(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a", "b", "c", "d", "e"))
	want := func(what string, ns ...int) {
		t.Helper()
		tickets, err := l.Unaudited(t.Context(), "r-1")
		must(t, err)
		var got []int
		for _, it := range allItems(t, l, "r-1") {
			if slices.Contains(tickets, it.Ticket) && it.State != backends.Intended {
				got = append(got, it.N)
			}
		}
		if !slices.Equal(got, ns) {
			t.Errorf("%s: items %v of %v, want %v", what, got, tickets, ns)
		}
	}
	want("at first")
	intend(t, l, "r-1", fence, "t-1", 0, 1)
	want("intended")
	must(t, record(t, l, "r-1", outcomes(backends.Done, 0)))
	want("one of two", 0)
	must(t, record(t, l, "r-1", outcomes(backends.Claimed, 1)))
	want("proved not sent", 0, 1)
	must(t, record(t, l, "r-1", outcomes(backends.Skipped, 2, 3)))
	want("never intended", 0, 1, 2, 3)
	must(t, l.AuditedPlan(t.Context(), "r-1"))
	want("audited")
	intend(t, l, "r-1", fence, "t-2", 1)
	must(t, record(t, l, "r-1", outcomes(backends.Doubtful, 1)))
	want("the second try", 1)
	must(t, l.AuditedPlan(t.Context(), "r-1"))
	must(t, record(t, l, "r-1", outcomes(backends.Done, 1)))
	want("settled", 1)
}

func TestConsume(t *testing.T) {
	l, _ := newLedger(t)
	create(t, l, request("r-1"), letters("a", "b", "c"))
	consume := func(plan, ticket string, ns ...int) {
		t.Helper()
		must(t, l.Consume(t.Context(), plan, "x-9", ticket, physical, ns, start.Add(-time.Minute)))
	}
	consume("r-1", "t-1", 0, 1)
	consume("r-1", "t-1", 0, 1) // once is enough
	wantUsed(t, l, physical, 2)
	wantState(t, l, "r-1", Running)
	got := allItems(t, l, "r-1", backends.Intended)
	if len(got) != 2 || got[0].Ticket != "t-1" {
		t.Errorf("intended %+v", got)
	}
	consume("r-unknown", "t-2", 0, 1, 2)
	wantUsed(t, l, physical, 5)

	// The next executor need not wait, and goes on where the log says.
	fence, err := l.Start(t.Context(), "r-1", "x-10", time.Minute, false)
	must(t, err)
	must(t, record(t, l, "r-1", outcomes(backends.Done, 0, 1)))
	intend(t, l, "r-1", fence, "t-3", 2)
	must(t, record(t, l, "r-1", outcomes(backends.Done, 2)))
	if s, err := l.Finish(t.Context(), "r-1", fence, false, ""); s != Done || err != nil {
		t.Errorf("ends as %s, %v", s, err)
	}
	replays, err := l.Replays(t.Context(), "db/jobs", []string{"a"})
	must(t, err)
	if r := replays["a"]; r.Count != 1 || !r.Last.Equal(start.Add(-time.Minute)) {
		t.Errorf("replays %+v", r)
	}
}

// A plan that was over in the older copy holds its letters again.
func TestConsumeReopensAPlan(t *testing.T) {
	l, _ := newLedger(t)
	create(t, l, request("r-1"), letters("a", "b"))
	_, err := l.Cancel(t.Context(), "r-1", "")
	must(t, err)
	must(t, l.Consume(t.Context(), "r-1", "x-9", "t-1", physical, []int{0}, start))
	wantState(t, l, "r-1", Running)
	wantClaims(t, l, map[string]string{"a": "r-1"}, "a", "b")
}
