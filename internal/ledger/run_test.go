package ledger

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

func TestOneExecutorWins(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	handles := []*Ledger{openIn(t, state, clock.Now), openIn(t, state, clock.Now)}
	create(t, handles[0], request("r-1", approved), letters("a"))
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := handles[i%2].Start(t.Context(), "r-1", "x", time.Minute, false)
			var fence *FenceError
			if err == nil {
				won.Add(1)
			} else if !errors.As(err, &fence) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d executors have the plan", won.Load())
	}
}

func TestLease(t *testing.T) {
	l, clock := newLedger(t)
	first := running(t, l, request("r-1", approved), letters("a", "b")) // for a minute
	take := func(dead bool) (int64, error) { return l.Start(t.Context(), "r-1", "x-2", time.Minute, dead) }
	_, err := take(false)
	wantAs[*FenceError](t, "while it lives", err)
	clock.add(time.Minute - time.Microsecond)
	must(t, l.Renew(t.Context(), "r-1", first, time.Minute))
	clock.add(time.Minute - time.Microsecond)
	_, err = take(false)
	wantAs[*FenceError](t, "after a renewal", err)
	clock.add(time.Microsecond)
	second, err := take(false)
	must(t, err)
	third, err := take(true) // the holder is dead: its lease does not count
	must(t, err)
	if second != first+1 || third != second+1 {
		t.Errorf("fences %d, %d, %d", first, second, third)
	}
	// A stopping plan is taken over as stopping.
	_, err = l.Cancel(t.Context(), "r-1", "enough")
	must(t, err)
	_, err = take(false)
	wantAs[*FenceError](t, "while it stops", err)
	_, err = take(true)
	must(t, err)
	wantState(t, l, "r-1", Stopping)
}

func TestFencedOff(t *testing.T) {
	l, _ := newLedger(t)
	old := running(t, l, request("r-1", approved), letters("a", "b", "c"))
	intend(t, l, "r-1", old, "t-1", 0)
	_, err := l.Start(t.Context(), "r-1", "x-2", time.Minute, true)
	must(t, err)
	wantAs[*FenceError](t, "intend", l.Intend(t.Context(), "r-1", "x-1", old, "t-2", []int{1}))
	wantAs[*FenceError](t, "renew", l.Renew(t.Context(), "r-1", old, time.Hour))
	_, err = l.Finish(t.Context(), "r-1", old, false, "")
	wantAs[*FenceError](t, "finish", err)
	_, err = l.Reserve(t.Context(), "r-1", old, "db/jobs#mail", 0, 1)
	wantAs[*FenceError](t, "reserve", err)

	// What it did it may still say, and nothing else: item 1 is in other hands.
	_, err = l.Reserve(t.Context(), "r-1", old+1, physical, 0, 1)
	must(t, err)
	must(t, l.Intend(t.Context(), "r-1", "x-2", old+1, "t-2", []int{1}))
	for _, say := range [][]backends.Outcome{outcomes(backends.Done, 1), outcomes(backends.Claimed, 1), outcomes(backends.Skipped, 2)} {
		if stored, err := l.Record(t.Context(), "r-1", "x-1", old, say); len(stored) > 0 || err != nil {
			t.Errorf("of the other's it stored %v, %v", stored, err)
		}
	}
	stored, err := l.Record(t.Context(), "r-1", "x-1", old, outcomes(backends.Done, 2, 1, 0))
	must(t, err)
	if len(stored) != 1 || stored[0].N != 0 {
		t.Errorf("stored %v", stored)
	}
	if got := allItems(t, l, "r-1"); got[0].State != backends.Done || got[1].State != backends.Intended || got[2].State != backends.Claimed {
		t.Errorf("items: %+v", got)
	}
	if stored, err := l.Record(t.Context(), "r-1", "x-1", old, outcomes(backends.Done, 0)); len(stored) > 0 || err != nil {
		t.Errorf("a second time it stored %v, %v", stored, err)
	}
}

func TestFinish(t *testing.T) {
	for name, c := range map[string]struct {
		ends   []backends.State // of three items; Claimed: never intended
		halted bool
		want   State
	}{
		"all":                {[]backends.State{backends.Done, backends.Done, backends.Done}, false, Done},
		"one skipped":        {[]backends.State{backends.Done, backends.Skipped, backends.Done}, false, Partial},
		"one failed":         {[]backends.State{backends.Done, backends.Failed, backends.Done}, false, Partial},
		"one unknown":        {[]backends.State{backends.Doubtful, backends.Failed, backends.Done}, false, Unknown},
		"halted and unknown": {[]backends.State{backends.Doubtful, backends.Claimed, backends.Done}, true, Unknown},
		"halted":             {[]backends.State{backends.Done, backends.Claimed, backends.Claimed}, true, Halted},
		"some never tried":   {[]backends.State{backends.Done, backends.Claimed, backends.Claimed}, false, Halted},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLedger(t)
			fence := running(t, l, request("r-1", approved), letters("a", "b", "c"))
			for n, s := range c.ends {
				if s != backends.Claimed {
					intend(t, l, "r-1", fence, "t-"+string(s)+string(rune('0'+n)), n)
					must(t, record(t, l, "r-1", outcomes(s, n)))
				}
			}
			got, err := l.Finish(t.Context(), "r-1", fence, c.halted, "why")
			if got != c.want || err != nil {
				t.Errorf("%s, %v, want %s", got, err, c.want)
			}
			claims, err := l.Claims(t.Context(), "db/jobs", []string{"a", "b", "c"})
			must(t, err)
			for n, id := range []string{"a", "b", "c"} {
				if (claims[id] != "") != (c.ends[n] == backends.Doubtful) {
					t.Errorf("%s ended as %s, claims %v", id, c.ends[n], claims)
				}
			}
			if last, err := l.LastEnded(t.Context(), "mail"); last.ID != "r-1" || err != nil {
				t.Errorf("last ended: %s, %v", last.ID, err)
			}
		})
	}
}

func TestNoEndWhileInDoubt(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a"))
	intend(t, l, "r-1", fence, "t-1", 0)
	if _, err := l.Finish(t.Context(), "r-1", fence, true, ""); err == nil {
		t.Error("a plan ended with an item in doubt")
	}
	wantState(t, l, "r-1", Running)
}

func TestIntendIsAllOrNothing(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a", "b", "c"))
	intend(t, l, "r-1", fence, "t-1", 0)
	reserve(t, l, "r-1", fence, 0, 9)
	for name, ns := range map[string][]int{"one intended": {0, 1}, "one unknown": {1, 9}, "one twice": {1, 1}} {
		wantAs[*MoveError](t, name, l.Intend(t.Context(), "r-1", "x-1", fence, "t-2", ns))
	}
	if err := l.Intend(t.Context(), "r-1", "x-1", fence, "t-1", []int{1}); err == nil {
		t.Error("a ticket was used twice")
	}
	if got := allItems(t, l, "r-1", backends.Claimed); len(got) != 2 {
		t.Errorf("claimed: %+v", got)
	}
	if err := record(t, l, "r-1", append(outcomes(backends.Done, 0), outcomes(backends.Done, 7)...)); err == nil {
		t.Error("an outcome for no item was stored")
	}
	if err := record(t, l, "r-1", append(outcomes(backends.Done, 0), outcomes(backends.Skipped, 0)...)); err == nil {
		t.Error("two outcomes for one item were stored")
	}
	if got := allItems(t, l, "r-1", backends.Intended); len(got) != 1 || got[0].Ticket != "t-1" {
		t.Errorf("intended: %+v", got)
	}
}

func TestHold(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	l, other := openIn(t, state, clock.Now), openIn(t, state, clock.Now)
	fence := running(t, l, request("r-1", approved), letters("a"))
	h, dead, err := l.Hold(t.Context(), "r-1")
	if err != nil || !dead {
		t.Fatalf("dead %v, %v", dead, err)
	}
	second, dead, err := other.Hold(t.Context(), "r-1")
	if err != nil || dead || !other.Held(t.Context(), "r-1") {
		t.Errorf("beside a holder: dead %v, %v", dead, err)
	}
	second.Release()
	h.Release()
	if other.Held(t.Context(), "r-1") {
		t.Error("held after its release")
	}
	h, dead, err = other.Hold(t.Context(), "r-1")
	if err != nil || !dead {
		t.Errorf("after the release: dead %v, %v", dead, err)
	}
	_, err = l.Finish(t.Context(), "r-1", fence, true, "")
	must(t, err)
	h.Release()
	if _, err := state.CheckedPath("run-r-1.lock"); err != nil {
		t.Error(err)
	}
	if names, _ := state.Names(); len(names) != 4 { // ledger.db, -wal, -shm, upgrade.lock
		t.Errorf("files after the end: %v", names)
	}
}
