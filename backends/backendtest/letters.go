package backendtest

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// secret stands in every error text of a letter: no error of a store may hold it.
const secret = "planted-7f31-secret"

// some makes n letters whose bodies nobody used before.
func some(n int) []Letter {
	run := rand.Text()
	out := make([]Letter, n)
	for i := range out {
		out[i] = Letter{
			Body:  fmt.Appendf(nil, `{"job": "%s-%d"}`, run, i),
			Error: fmt.Sprintf("upstream answered 502 to %s %d", secret, i),
			Job:   fmt.Sprintf("resize-%d", i%3),
		}
	}
	return out
}

func open(t testing.TB, b Bench) backends.Store {
	t.Helper()
	s := b.Open(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// scan looks at the queue, where that is needed, and collects letters.
func scan(t testing.TB, s backends.Store, q backends.Query) []backends.DeadLetter {
	t.Helper()
	if l, ok := s.(backends.Looker); ok {
		look(t, s, l, q.Queue)
	}
	return seen(t, s, q)
}

// look looks at a queue until it shows as many letters as the store counts. A look
// that saw less than all, because somebody had just given letters back, leaves
// those on the list that it did not see.
func look(t testing.TB, s backends.Store, l backends.Looker, queue string) {
	t.Helper()
	for range 20 {
		if look, err := l.Look(t.Context(), queue, true); err != nil || look.Running {
			t.Fatalf("looking at the queue: %+v, %v", look, err)
		}
		d, err := s.Depth(t.Context(), queue)
		if err != nil {
			t.Fatalf("asking for the depth: %v", err)
		}
		if d.Letters == len(seen(t, s, backends.Query{Queue: queue})) {
			return
		}
	}
}

// seen collects letters as they were last seen. What a scan yields is borrowed, so
// it is copied.
func seen(t testing.TB, s backends.Store, q backends.Query) []backends.DeadLetter {
	t.Helper()
	var out []backends.DeadLetter
	for l, err := range s.Scan(t.Context(), q) {
		if err != nil {
			t.Fatalf("scanning %+v: %v", q, err)
		}
		kept := *l
		kept.Payload.Bytes = append([]byte(nil), l.Payload.Bytes...)
		kept.Envelope = append([]byte(nil), l.Envelope...)
		out = append(out, kept)
	}
	return out
}

// find reads letters by id, with bodies, and answers them in the order of ids.
func find(t testing.TB, s backends.Store, b Bench, ids []string) []backends.DeadLetter {
	t.Helper()
	byID := map[string]backends.DeadLetter{}
	for _, l := range scan(t, s, backends.Query{Queue: b.Queue, IDs: ids, Bodies: true}) {
		byID[l.ID] = l
	}
	out := make([]backends.DeadLetter, len(ids))
	for i, id := range ids {
		l, ok := byID[id]
		if !ok {
			t.Fatalf("the dead letter %q is not found by its id", id)
		}
		out[i] = l
	}
	return out
}

// planned kills letters and makes the items that would send them.
func planned(t testing.TB, s backends.Store, b Bench, letters []Letter) []backends.Item {
	t.Helper()
	found := find(t, s, b, b.Kill(t, letters))
	items := make([]backends.Item, len(found))
	for i, l := range found {
		items[i] = backends.Item{N: i, Ref: l.Ref}
	}
	return items
}

func orderOf(b Bench, items []backends.Item) backends.Order {
	return backends.Order{Queue: b.Queue, Attempts: "reset", Items: items}
}

// counts is how often each body was sent.
func counts(t testing.TB, b Bench) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, j := range b.Ready(t) {
		out[string(j.Body)]++
	}
	return out
}

// dead reports whether a letter is among the dead.
func dead(t testing.TB, s backends.Store, b Bench, id string) bool {
	t.Helper()
	return len(scan(t, s, backends.Query{Queue: b.Queue, IDs: []string{id}})) == 1
}
