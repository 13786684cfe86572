package backendtest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const crew = 12 // items of a plan that is cut off

// crashOnce cuts a redrive off at every step of the journal, by an error and
// by a death.
func crashOnce(t testing.TB, b Bench) {
	s := open(t, b)
	for _, dies := range []bool{false, true} {
		for at, reached := b.from(), true; reached; at += b.stride() {
			reached = crash(t, b, s, strike{dies: dies, most: 5, first: at, second: -1})
		}
	}
}

// stride and from say at which steps a redrive is cut off: at each, or in a slow
// store at some, other ones each time.
func (b Bench) stride() int {
	if b.Slow {
		return 4
	}
	return 1
}

func (b Bench) from() int { return rand.IntN(b.stride()) }

// crashAhead cuts a redrive off that prepares batches ahead. What it prepared is
// on another goroutine, so that only errors can cut it off here.
func crashAhead(t testing.TB, b Bench) {
	s := open(t, b)
	for at, reached := b.from(), true; reached; at += b.stride() {
		reached = crash(t, b, s, strike{ahead: true, most: 4, first: at, second: -1})
	}
}

// strike is one way to be cut off: after how many steps, and after how many
// more, of a plan that goes in batches of most items.
type strike struct {
	dies, ahead         bool
	most, first, second int
	struck              backends.Store // struck first, and used on afterwards; nil: a fresh one
}

// crashTwice cuts the redrive off, and then what resumes it, at every pair of
// steps.
func crashTwice(t testing.TB, b Bench) {
	s := open(t, b)
	struck := open(t, b)
	if b.Slow {
		for range 12 {
			crash(t, b, s, strike{dies: true, most: 6, first: rand.IntN(16), second: rand.IntN(16), struck: struck})
		}
		return
	}
	for first, any := 0, true; any; first++ {
		any = false
		for second, reached := 0, true; reached; second++ {
			reached = crash(t, b, s, strike{dies: true, most: 6, first: first, second: second, struck: struck})
			any = any || reached
		}
	}
}

// crash runs one plan that is cut off, resumed on a fresh connection, perhaps
// cut off again, and then brought to its end by another store, which was open
// all the time. It reports whether the last cut was reached.
func crash(t testing.TB, b Bench, other backends.Store, c strike) bool {
	t.Helper()
	letters := some(crew)
	items := planned(t, other, b, letters)
	b.Remove(t, items[3].Ref.ID) // some are stale from the start
	b.Revive(t, items[8].Ref.ID)
	b.KillAgain(t, items[8].Ref.ID)
	j := newJournal(t, b, letters, c.most)
	j.dies, j.ahead = c.dies, c.ahead

	reached := true
	for i, at := range []int{c.first, c.second} {
		if reached && at >= 0 {
			s := c.struck
			if s == nil || i > 0 {
				s = b.Open(t)
			}
			reached = cut(t, s, b, items, j, at)
			if s != c.struck {
				s.Close()
			}
			expire(t, b, other, j.doubts(items), at%2 == 0)
		}
	}
	j.cutAt = -1
	finish(t, other, b, items, j)
	b.Take(t)
	if t.Failed() {
		t.Fatalf("cut off after %d steps, then %d (by death: %v, ahead: %v)", c.first, c.second, c.dies, c.ahead)
	}
	return reached
}

// expire lets retention delete letters in doubt that were not sent, one or all:
// that a letter is dead no more is no proof that it was sent.
func expire(t testing.TB, b Bench, s backends.Store, doubts []backends.Doubt, all bool) {
	t.Helper()
	for _, d := range doubts {
		if dead(t, s, b, d.Ref.ID) {
			b.Remove(t, d.Ref.ID)
			if !all {
				return
			}
		}
	}
}

// cut resumes a plan and cuts it off at a step. It reports whether the step
// was reached.
func cut(t testing.TB, s backends.Store, b Bench, items []backends.Item, j *journal, at int) (reached bool) {
	t.Helper()
	j.steps, j.cutAt = 0, at
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(cutPanic); !ok {
				panic(r)
			}
			reached = true
		}
	}()
	err := resume(t, s, b, items, j)
	if err != nil && !errors.Is(err, errCut) {
		t.Errorf("the plan failed by itself: %v", err)
	}
	return err != nil
}

// resume is what an executor does with a plan: it settles what is in doubt and
// sends what is claimed.
func resume(t testing.TB, s backends.Store, b Bench, items []backends.Item, j *journal) error {
	t.Helper()
	if doubts := j.doubts(items); len(doubts) > 0 {
		before := counts(t, b)
		err := s.Resolve(t.Context(), b.Queue, doubts, j)
		after := counts(t, b)
		for _, d := range doubts {
			if body := j.bodies[d.N]; after[body] != before[body] {
				t.Errorf("Resolve sent item %d", d.N)
			}
		}
		if err != nil {
			return err
		}
	}
	if todo := j.claimed(items); len(todo) > 0 {
		return s.Redrive(t.Context(), orderOf(b, todo), j.face())
	}
	return nil
}

// finish resumes a plan to its end, and judges it.
func finish(t testing.TB, s backends.Store, b Bench, items []backends.Item, j *journal) {
	t.Helper()
	if err := resume(t, s, b, items, j); err != nil {
		t.Errorf("resuming the plan: %v", err)
	}
	judge(t, s, b, items, j)
}

// judge checks the end of a plan: every item was sent once, or was not sent
// and says why, or is openly in doubt.
func judge(t testing.TB, s backends.Store, b Bench, items []backends.Item, j *journal) {
	t.Helper()
	ready := counts(t, b)
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.Ref.ID
	}
	still := map[string]bool{}
	for _, l := range scan(t, s, backends.Query{Queue: b.Queue, IDs: ids}) {
		still[l.ID] = true
	}
	for n, e := range j.entries {
		sent := ready[j.bodies[n]]
		switch e.state {
		case backends.Done:
			if sent != 1 || still[ids[n]] {
				t.Errorf("item %d is done: sent %d times, dead %v", n, sent, still[ids[n]])
			}
		case backends.Skipped, backends.Failed:
			if sent != 0 {
				t.Errorf("item %d is %s and was sent %d times", n, e.state, sent)
			}
		case backends.Doubtful:
			if sent > 1 || !b.Facts.MayDoubt {
				t.Errorf("item %d is in doubt and was sent %d times", n, sent)
			}
		default:
			t.Errorf("item %d ended as %s", n, e.state)
		}
	}
}
