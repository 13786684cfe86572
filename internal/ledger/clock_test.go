package ledger

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A clock that runs ahead and is set back again brings nothing to life that was
// over, and lets nothing through meanwhile.
func TestClockThatRanAhead(t *testing.T) {
	l, clock := newLedger(t)
	create(t, l, request("r-1"), letters("a"))
	fence := running(t, l, request("r-2", approved), numbered("b", 10))
	if n := reserve(t, l, "r-2", fence, 10, 10); n != 10 {
		t.Fatalf("%d were granted", n)
	}
	intend(t, l, "r-2", fence, "t-1", upTo(10)...)
	clock.add(2 * time.Hour)
	_, err := l.Expire(t.Context())
	must(t, err)
	wantState(t, l, "r-1", Expired)
	wantUsed(t, l, physical, 0)

	clock.add(-2 * time.Hour)
	wantState(t, l, "r-1", Expired)
	_, err = l.Start(t.Context(), "r-2", "x-2", time.Minute, true)
	wantAs[*ClockError](t, "start", err)
	_, err = l.Reserve(t.Context(), "r-2", fence, physical, 10, 1)
	wantAs[*ClockError](t, "reserve", err)
	wantAs[*ClockError](t, "create", l.Create(t.Context(), request("r-3"), letters("a"), Caps{}))
	must(t, record(t, l, "r-2", outcomes("done", upTo(10)...)))

	// Once the wall has caught up all goes on.
	clock.add(2*time.Hour - MaxClockLag)
	create(t, l, request("r-3", func(p *Plan) { p.Expires = start.Add(9 * time.Hour) }), letters("a"))
	f3, err := l.Start(t.Context(), "r-2", "x-2", time.Minute, true)
	must(t, err)
	if n := reserve(t, l, "r-2", f3, 10, 10); n != 10 {
		t.Errorf("%d were granted", n)
	}
}

// Whatever the wall clock does, no second of real time sees more than its rate,
// one burst, and one burst more for each jump ahead.
func TestPaceWithAJumpingClock(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, rate := range []float64{0.5, 3, 20} {
		l, clock := newLedger(t)
		var real time.Duration // since start
		type sent struct {
			at time.Duration
			n  int
		}
		var all []sent
		var ahead []time.Duration // when it jumped
		for range 300 {
			switch rnd.IntN(10) {
			case 0:
				clock.add(time.Duration(rnd.Int64N(int64(time.Hour))))
				ahead = append(ahead, real)
			case 1:
				clock.add(-time.Duration(rnd.Int64N(int64(3 * time.Minute))))
			}
			n, wait, err := l.Pace(t.Context(), physical, rate, 50)
			must(t, err)
			real += wait
			clock.add(wait)
			all = append(all, sent{real, n})
			idle := time.Duration(rnd.Int64N(int64(200 * time.Millisecond)))
			real += idle
			clock.add(idle)
		}
		burst := max(1, int(rate))
		for i, first := range all {
			total, jumps := 0, 0
			for _, s := range all[i:] {
				if s.at < first.at+time.Second {
					total += s.n
				}
			}
			for _, at := range ahead {
				if at >= first.at && at < first.at+time.Second {
					jumps++
				}
			}
			if most := int(rate) + burst*(1+jumps); total > most {
				t.Fatalf("at %v a second each: %d within a second of %v, with %d jumps; at most %d may", rate, total, first.at, jumps, most)
			}
		}
	}
}
