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
