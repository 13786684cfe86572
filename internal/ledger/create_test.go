package ledger

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestClaimsAreAllOrNothing(t *testing.T) {
	l, _ := newLedger(t)
	create(t, l, request("r-1"), letters("a", "b"))
	err := l.Create(t.Context(), request("r-2"), letters("c", "b", "d"), Caps{})
	claimed := wantAs[*ClaimedError](t, "a claimed letter", err)
	if fmt.Sprint(claimed.By) != "map[b:r-1]" {
		t.Errorf("claimed by %v", claimed.By)
	}
	_, err = l.Get(t.Context(), "r-2")
	wantIs(t, "the refused plan", err, ErrNoPlan)
	wantClaims(t, l, map[string]string{"a": "r-1", "b": "r-1"}, "a", "b", "c", "d")

	// The same id elsewhere is another letter.
	create(t, l, request("r-3", func(p *Plan) { p.Letters = "db/other" }), letters("a", "b"))
	// One letter twice in a plan is a fault of the caller and names no plan.
	err = l.Create(t.Context(), request("r-4"), []Item{{N: 0, Ref: letters("x")[0].Ref}, {N: 1, Ref: letters("x")[0].Ref}}, Caps{})
	if errors.As(err, &claimed) || err == nil {
		t.Errorf("one letter twice: %v", err)
	}
	wantClaims(t, l, map[string]string{}, "x")
}

func TestSupersede(t *testing.T) {
	l, _ := newLedger(t)
	create(t, l, request("r-1"), letters("a", "b"))
	must(t, l.Create(t.Context(), request("r-2", func(p *Plan) { p.Kind = "person" }), letters("a"), Caps{PlansPerQueue: 1}, "r-1"))
	wantState(t, l, "r-1", Cancelled)
	wantClaims(t, l, map[string]string{"a": "r-2"}, "a", "b")
	if p, _ := l.Get(t.Context(), "r-1"); p.Why != "superseded by r-2" || !p.Ended.Equal(start) {
		t.Errorf("why %q, ended %v", p.Why, p.Ended)
	}
	// If the new plan cannot be made, the old one stays.
	create(t, l, request("r-3"), letters("c"))
	wantAs[*ClaimedError](t, "claimed", l.Create(t.Context(), request("r-4"), letters("b", "c"), Caps{}, "r-2"))
	wantState(t, l, "r-2", Pending)
	wantIs(t, "an unknown plan", l.Create(t.Context(), request("r-5"), nil, Caps{}, "r-none"), ErrNoPlan)
}

func TestPendingCap(t *testing.T) {
	l, clock := newLedger(t)
	caps := Caps{PlansPerQueue: 2}
	for i := range 2 {
		must(t, l.Create(t.Context(), request(fmt.Sprint("r-", i)), numbered(fmt.Sprint(i), 1), caps))
	}
	wantIs(t, "the third", l.Create(t.Context(), request("r-3"), letters("x"), caps), ErrTooMany)
	must(t, l.Create(t.Context(), request("r-4", direct), letters("y"), caps))
	must(t, l.Create(t.Context(), request("r-5", func(p *Plan) { p.Queue = "other" }), letters("z"), caps))
	// What is over makes room, also when nobody has looked at it yet.
	clock.add(time.Hour)
	must(t, l.Create(t.Context(), request("r-6", func(p *Plan) { p.Expires = clock.Now().Add(time.Hour) }), letters("01", "00"), caps))
	wantState(t, l, "r-0", Expired)
}

func TestHourCap(t *testing.T) {
	l, clock := newLedger(t)
	caps := Caps{PerHour: 10}
	fence := running(t, l, request("r-1", direct), numbered("a", 5))
	granted, err := l.Reserve(t.Context(), "r-1", fence, "db/jobs#mail", 10, 5)
	if err != nil || granted != 5 {
		t.Fatalf("granted %d, %v", granted, err)
	}
	// Five are planned, the same five are reserved: five places are left.
	wantIs(t, "six more", l.Create(t.Context(), request("r-2", direct), numbered("b", 6), caps), ErrPerHour)
	must(t, l.Create(t.Context(), request("r-3", direct), numbered("c", 5), caps))
	wantIs(t, "one more", l.Create(t.Context(), request("r-4", direct), numbered("d", 1), caps), ErrPerHour)
	// An approved request is not bounded by it, another physical queue has its own.
	must(t, l.Create(t.Context(), request("r-5"), numbered("e", 20), caps))
	must(t, l.Create(t.Context(), request("r-6", direct, func(p *Plan) { p.Physical = "db/jobs#other" }), numbered("f", 10), caps))
	// A cancelled plan gives its places back, a sent item does after an hour.
	_, err = l.Cancel(t.Context(), "r-3", "")
	must(t, err)
	intend(t, l, "r-1", fence, "t-1", upTo(5)...)
	must(t, record(t, l, "r-1", outcomes("done", upTo(5)...)))
	_, err = l.Finish(t.Context(), "r-1", fence, false, "")
	must(t, err)
	wantIs(t, "six after five", l.Create(t.Context(), request("r-7", direct), numbered("g", 6), caps), ErrPerHour)
	clock.add(time.Hour)
	must(t, l.Create(t.Context(), request("r-8", direct), numbered("g", 10), caps))
}

// A run that is asked to stop may still intend what it has reserved.
func TestHourCapCountsAStoppingRunsReservation(t *testing.T) {
	l, _ := newLedger(t)
	fence := running(t, l, request("r-1", direct), numbered("a", 5))
	_, err := l.Reserve(t.Context(), "r-1", fence, "db/jobs#mail", 10, 3)
	must(t, err)
	_, err = l.Cancel(t.Context(), "r-1", "")
	must(t, err)
	wantIs(t, "eight", l.Create(t.Context(), request("r-2", direct), numbered("b", 8), Caps{PerHour: 10}), ErrPerHour)
	must(t, l.Create(t.Context(), request("r-3", direct), numbered("b", 7), Caps{PerHour: 10}))
}

func TestIdempotencyKey(t *testing.T) {
	l, _ := newLedger(t)
	keyed := func(p *Plan) { p.Idem = "k'1" }
	create(t, l, request("r-1", keyed), letters("a"))
	idem := wantAs[*IdemError](t, "the key again", l.Create(t.Context(), request("r-2", keyed), letters("b"), Caps{}))
	if idem != nil && idem.Plan != "r-1" {
		t.Errorf("names %s", idem.Plan)
	}
	create(t, l, request("r-3", keyed, func(p *Plan) { p.Principal = "ana" }), letters("c"))
	create(t, l, request("r-4", keyed, func(p *Plan) { p.Kind = "person" }), letters("d"))
	p, err := l.ByKey(t.Context(), "person", "luis", "k'1")
	if err != nil || p.ID != "r-4" {
		t.Errorf("by key: %s, %v", p.ID, err)
	}
	_, err = l.ByKey(t.Context(), "person", "luis", "other")
	wantIs(t, "another key", err, ErrNoPlan)
}

// Many callers on two handles race for the last places; caps hold exactly.
func TestRacingCreates(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Plan)
		caps   Caps
		items  int
		want   int64 // plans
		full   error
	}{
		"pending":  {func(*Plan) {}, Caps{PlansPerQueue: 5}, 1, 5, ErrTooMany},
		"per hour": {direct, Caps{PerHour: 7}, 2, 3, ErrPerHour},
	} {
		t.Run(name, func(t *testing.T) {
			state, clock := newState(t), &frozen{now: start}
			handles := []*Ledger{openIn(t, state, clock.Now), openIn(t, state, clock.Now)}
			var made atomic.Int64
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					err := handles[i%2].Create(t.Context(), request(fmt.Sprint("r-", i), c.change), numbered(fmt.Sprint("l", i, "-"), c.items), c.caps)
					if err == nil {
						made.Add(1)
					} else if !errors.Is(err, c.full) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if made.Load() != c.want {
				t.Errorf("%d plans, want %d", made.Load(), c.want)
			}
		})
	}
}

func TestRacingClaims(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	handles := []*Ledger{openIn(t, state, clock.Now), openIn(t, state, clock.Now)}
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			var claimed *ClaimedError
			err := handles[i%2].Create(t.Context(), request(fmt.Sprint("r-", i)), letters("a", fmt.Sprint("own", i)), Caps{})
			if err == nil {
				made.Add(1)
			} else if !errors.As(err, &claimed) || claimed.By["a"] == "" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("%d plans claim one letter", made.Load())
	}
}
