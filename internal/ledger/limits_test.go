package ledger

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const physical = "db/jobs#mail"

func reserve(t testing.TB, l *Ledger, plan string, fence int64, perHour, n int) int {
	t.Helper()
	granted, err := l.Reserve(t.Context(), plan, fence, physical, perHour, n)
	must(t, err)
	return granted
}

func TestRollingHour(t *testing.T) {
	l, clock := newLedger(t)
	f1 := running(t, l, request("r-1", approved), numbered("a", 10))
	f2 := running(t, l, request("r-2", approved), numbered("b", 10))
	want := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	want("first", reserve(t, l, "r-1", f1, 10, 4), 4)
	wantUsed(t, l, physical, 4)
	want("a plan's own reservation is replaced", reserve(t, l, "r-1", f1, 10, 6), 6)
	want("the other gets what is left", reserve(t, l, "r-2", f2, 10, 9), 4)
	want("and no more", reserve(t, l, "r-1", f1, 10, 9), 6)
	wantUsed(t, l, physical, 10)
	wantUsed(t, l, "db/jobs#other", 0)

	// Six are intended: one goes, one is skipped, one fails, one is unknown, one
	// was proved not sent, one is still in doubt.
	intend(t, l, "r-1", f1, "t-1", upTo(6)...)
	wantUsed(t, l, physical, 10)
	must(t, record(t, l, "r-1", []backends.Outcome{{N: 0, State: backends.Done}, {N: 1, State: backends.Skipped, Code: backends.Gone},
		{N: 2, State: backends.Failed}, {N: 3, State: backends.Doubtful}, {N: 4, State: backends.Claimed}}))
	wantUsed(t, l, physical, 7)
	want("what was not sent is free again", reserve(t, l, "r-1", f1, 10, 9), 3)

	// What was never intended gives nothing back, and nothing back twice.
	must(t, record(t, l, "r-1", outcomes(backends.Skipped, 4, 9)))
	wantUsed(t, l, physical, 10)
	must(t, record(t, l, "r-1", outcomes(backends.Skipped, 5)))
	wantUsed(t, l, physical, 9)
	// A person finds out that the unknown one did not go.
	must(t, l.Settle(t.Context(), "r-1", outcomes(backends.Skipped, 3)))
	wantUsed(t, l, physical, 8)

	clock.add(time.Hour - time.Microsecond)
	wantUsed(t, l, physical, 8)
	clock.add(time.Microsecond)
	wantUsed(t, l, physical, 0)
	want("after an hour", reserve(t, l, "r-2", f2, 10, 10), 10)
	want("no limit", reserve(t, l, "r-1", f1, 0, 1000), 1000)
}

// An executor that dies between Reserve and Intend holds nobody back once
// another has the plan, or the plan is over.
func TestReservationEnds(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), numbered("a", 5))
	reserve(t, l, "r-1", fence, 5, 5)
	fence, err := l.Start(t.Context(), "r-1", "x-2", time.Minute, true)
	must(t, err)
	wantUsed(t, l, physical, 0)
	reserve(t, l, "r-1", fence, 5, 5)
	_, err = l.Finish(t.Context(), "r-1", fence, true, "")
	must(t, err)
	wantUsed(t, l, physical, 0)
}

// Plans of two handles race for an hour's last places.
func TestRacingReservations(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	handles := []*Ledger{openIn(t, state, clock.Now), openIn(t, state, clock.Now)}
	var total atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		id := fmt.Sprint("r-", i)
		fence := running(t, handles[0], request(id, approved), numbered(id, 5))
		wg.Go(func() {
			for round := range 2 {
				n, err := handles[i%2].Reserve(t.Context(), id, fence, physical, 17, 2)
				if err != nil {
					t.Error(err)
					return
				}
				if n == 0 {
					continue
				}
				ns := upTo(5)[2*round : 2*round+n]
				if err := handles[i%2].Intend(t.Context(), id, "x", fence, fmt.Sprint(id, "-", round), ns); err != nil {
					t.Error(err)
				}
				total.Add(int64(n))
			}
		})
	}
	wg.Wait()
	if total.Load() != 17 {
		t.Errorf("%d were admitted, want 17", total.Load())
	}
	wantUsed(t, handles[1], physical, 17)
}

// arrivals asks for n messages again and again and gives the second at which
// each one goes.
func arrivals(t *testing.T, executors []*Ledger, clock *frozen, rate float64, n, calls int) (at []float64) {
	t.Helper()
	for i := range calls {
		admitted, wait, err := executors[i%len(executors)].Pace(t.Context(), physical, rate, n)
		must(t, err)
		for range admitted {
			at = append(at, clock.Now().Add(wait).Sub(start).Seconds())
		}
	}
	return at
}

func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		rate  float64
		n     int
		calls int
		want  string
	}{
		"one at a time":        {2, 1, 4, "[0 0.5 1 1.5]"},
		"a second's worth":     {3, 10, 3, "[0 0 0 1 1 1 2 2 2]"},
		"less than that":       {4, 2, 3, "[0 0 0.5 0.5 1 1]"},
		"slower than a second": {0.5, 10, 3, "[0 2 4]"},
		"a fraction over one":  {2.5, 10, 3, "[0 0 0.8 0.8 1.6 1.6]"},
		"once an hour":         {1.0 / 3600, 1, 2, "[0 3600]"},
	} {
		t.Run(name, func(t *testing.T) {
			state, clock := newState(t), &frozen{now: start}
			two := []*Ledger{openIn(t, state, clock.Now), openIn(t, state, clock.Now)}
			if got := fmt.Sprint(arrivals(t, two, clock, c.rate, c.n, c.calls)); got != c.want {
				t.Errorf("two executors go at %s, want %s", got, c.want)
			}
			// Time that nobody used is not saved up beyond one burst.
			clock.add(10 * time.Hour)
			at := arrivals(t, two, clock, c.rate, c.n, 2)
			if first := at[0]; first != 36000 || at[len(at)-1] == first {
				t.Errorf("after a rest they go at %v", at)
			}
		})
	}
	l, _ := newLedger(t)
	for range 3 {
		if n, wait, err := l.Pace(t.Context(), physical, 0, 50); n != 50 || wait != 0 || err != nil {
			t.Errorf("without a rate: %d after %v, %v", n, wait, err)
		}
	}
	arrivals(t, []*Ledger{l}, &frozen{now: start}, 1, 1, 5)
	if _, wait, err := l.Pace(t.Context(), "db/jobs#other", 1, 1); wait != 0 || err != nil {
		t.Errorf("another queue waits %v, %v", wait, err)
	}
}
