package backendtest

import (
	"errors"
	"sync"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// rival is one of two connections that send the same letters.
type rival struct {
	store   backends.Store
	journal *journal
	err     error
}

func rivals(t testing.TB, b Bench, letters []Letter) [2]*rival {
	var out [2]*rival
	for i := range out {
		j := newJournal(t, b, letters, 4+3*i)
		j.rival = true
		out[i] = &rival{store: open(t, b), journal: j}
	}
	return out
}

// twoAtOnce: two connections send the same letters, and each letter goes once.
func twoAtOnce(t testing.TB, b Bench) {
	for range 5 {
		letters := some(20)
		both := rivals(t, b, letters)
		items := planned(t, both[0].store, b, letters)
		var running sync.WaitGroup
		for _, r := range both {
			running.Go(func() { r.err = r.store.Redrive(t.Context(), orderOf(b, items), r.journal) })
		}
		running.Wait()
		judgeRivals(t, b, letters, both)
	}
}

// overtaken: while one connection has intended its first batch, another one
// tries to send everything.
func overtaken(t testing.TB, b Bench) {
	letters := some(12)
	both := rivals(t, b, letters)
	items := planned(t, both[0].store, b, letters)
	first := true
	both[0].journal.watch = func(step string, _ []int) {
		if step == "intend" && first {
			first = false
			both[1].err = both[1].store.Redrive(t.Context(), orderOf(b, items), both[1].journal)
		}
	}
	both[0].err = both[0].store.Redrive(t.Context(), orderOf(b, items), both[0].journal)
	judgeRivals(t, b, letters, both)
}

// judgeRivals: what was sent was sent once and by one of them. A rival may be
// told that the store is busy, and then has touched nothing more.
func judgeRivals(t testing.TB, b Bench, letters []Letter, both [2]*rival) {
	t.Helper()
	busy := false
	for _, r := range both {
		if r.err != nil {
			ours(t, r.err, backends.Busy, backends.TooSlow)
			busy = true
		}
	}
	ready := counts(t, b)
	for n, l := range letters {
		won, stood := 0, busy
		for _, r := range both {
			e := r.journal.entries[n]
			if e.state == backends.Done {
				won++
			}
			stood = stood || e.code == backends.Busy
		}
		if sent := ready[string(l.Body)]; sent != won || won > 1 || won == 0 && !stood {
			t.Errorf("letter %d was sent %d times, and %d of 2 sent it (%v)", n, sent, won, errors.Join(both[0].err, both[1].err))
		}
	}
}
