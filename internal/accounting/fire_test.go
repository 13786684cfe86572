package accounting

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shortFire is how long the short round burns, roundFire how long each of a long
// fire does.
const (
	shortFire = 6 * time.Second
	roundFire = 45 * time.Second
)

func TestFirePostgres(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	fire(t, func(round int, seed uint64) kind {
		return kind{postgres: s, schema: fmt.Sprintf("fire_%d", round), receipts: (seed+uint64(round))%3 > 0}
	})
}

func TestFireSQLite(t *testing.T) {
	t.Parallel()
	fire(t, func(round int, seed uint64) kind {
		return kind{receipts: (seed+uint64(round))%3 > 0, journal: []string{"wal", "delete"}[(seed+uint64(round))%2]}
	})
}

// fire burns round after round, each in a world of its own.
func fire(t *testing.T, next func(round int, seed uint64) kind) {
	seed := seeded(t)
	began, total := time.Now(), &tally{}
	for round := 0; round == 0 || time.Since(began) < *fireFor; round++ {
		d := shortFire
		if *fireFor > 0 {
			d = min(roundFire, *fireFor)
		}
		k := next(round, seed)
		w := newWorld(t, k)
		w.burn(seed+uint64(round), d, k.postgres)
		w.settle()
		w.account()
		w.tell(round, k)
		w.tally.into(total)
		total.add("rounds", 1)
		if t.Failed() {
			t.Fatalf("round %d, to be repeated with -seed=%d", round, seed+uint64(round))
		}
	}
	t.Logf("in all:\n%s", total)
}

// burn lets agents, people, executors, a worker and chaos loose for a while.
func (w *world) burn(seed uint64, d time.Duration, s *server) {
	w.kill(60)
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	working, rest := context.WithCancel(context.Background())
	var actors, workers sync.WaitGroup
	workers.Go(func() { w.jobs.work(working) })
	for n, act := range []func(context.Context, int){
		func(ctx context.Context, n int) { w.chaos(ctx, chooser(seed, n), s) },
		func(ctx context.Context, n int) { (&agent{w: w, rnd: chooser(seed, n), name: "a"}).run(ctx) },
		func(ctx context.Context, n int) { (&agent{w: w, rnd: chooser(seed, n), name: "b"}).run(ctx) },
		func(ctx context.Context, n int) { w.approver(ctx, chooser(seed, n)) },
		func(ctx context.Context, n int) { w.approver(ctx, chooser(seed, n)) },
		func(ctx context.Context, n int) { w.runner(ctx, chooser(seed, n)) },
		func(ctx context.Context, n int) { w.runner(ctx, chooser(seed, n)) },
	} {
		actors.Go(func() { act(ctx, n) })
	}
	actors.Wait()
	rest()
	workers.Wait()
}

// tell logs what happened in a round, and its faults.
func (w *world) tell(round int, k kind) {
	w.t.Helper()
	slices.Sort(w.faults)
	for _, f := range w.faults[:min(len(w.faults), 20)] {
		w.t.Error(f)
	}
	if more := len(w.faults) - 20; more > 0 {
		w.t.Errorf("and %d more faults", more)
	}
	if w.t.Failed() {
		w.keep()
		w.t.Logf("round %d, receipts %v, journal %q:\n%s", round, k.receipts, k.journal, &w.tally)
	}
}

func (t *tally) into(total *tally) {
	for k, n := range t.counts {
		total.add(k, n)
	}
	for k, n := range t.said {
		total.said[k] += n
	}
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "%8d  %s\n", t.counts[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(t.said)) {
		fmt.Fprintf(&b, "%8d  said: %s\n", t.said[k], k)
	}
	return b.String()
}
