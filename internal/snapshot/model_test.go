package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// model is what a place should hold, kept in memory.
type model struct {
	letters map[string]*remembered
	pass    int
	whole   int
}

type remembered struct {
	backends.Snapshot
	pass int
}

func (m *model) put(s backends.Snapshot, now time.Time) {
	r := m.letters[s.ID]
	if r == nil {
		r = &remembered{}
		m.letters[s.ID] = r
	}
	looks, first := r.Looks, r.First
	r.Snapshot = s
	r.Looks, r.First, r.Last, r.pass = looks+1, first, now, m.pass
	if first.IsZero() {
		r.First = now
	}
}

func (m *model) received(id string, now time.Time) {
	if m.letters[id] == nil {
		m.letters[id] = &remembered{Snapshot: backends.Snapshot{ID: id}}
	}
	if m.letters[id].First.IsZero() {
		m.letters[id].Last = now
	}
	m.letters[id].Looks++
}

// answer is what Letters should yield.
func (m *model) answer(q backends.SnapshotQuery, oldest time.Time) string {
	var all []*remembered
	for _, r := range m.letters {
		shown := r.pass >= m.whole
		if q.IDs != nil {
			shown = shown && slices.Contains(q.IDs, r.ID)
		}
		if !shown || r.First.IsZero() || r.Last.Before(oldest) || !q.AsOf.IsZero() && r.First.After(q.AsOf) {
			continue
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *remembered) int {
		return cmp.Or(cmp.Compare(b.Order, a.Order), strings.Compare(a.ID, b.ID))
	})
	var text strings.Builder
	for _, r := range all {
		if q.After != "" && (r.Order > q.Order || r.Order == q.Order && r.ID <= q.After) {
			continue
		}
		text.WriteString(line(r.Snapshot, q.Bodies))
	}
	return text.String()
}

func line(s backends.Snapshot, bodies bool) string {
	if !bodies {
		s.Body = nil
	}
	return fmt.Sprintf("%q %d %s %q %d %d %v %v\n", s.ID, s.Order, s.Facts, s.Body, s.Size, s.Looks, s.First.UnixNano(), s.Last.UnixNano())
}

// After any sequence of looks, receipts, removals and waits, every question has
// the answer that follows from the sequence.
func TestModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7))
			frozen := start
			d := openIn(t, newState(t), func() time.Time { return frozen })
			places := []string{"one", "two"}
			models := map[string]*model{"one": {letters: map[string]*remembered{}}, "two": {letters: map[string]*remembered{}}}
			passes := map[string]backends.Pass{}
			id := func() string { return fmt.Sprintf("%c\xff%d", 'a'+r.IntN(3), r.IntN(30)) }
			some := func(n int) (all []string) {
				for range n {
					all = append(all, id())
				}
				return all
			}
			for range 120 {
				frozen = frozen.Add(time.Duration(r.Int64N(int64(month / 20))))
				forget(models, frozen.Add(-month))
				at := places[r.IntN(2)]
				m, p := models[at], passes[at]
				switch does := r.IntN(10); {
				case does < 3 && p == nil:
					passes[at] = begin(t, d, at)
					m.pass++
				case does < 6 && p != nil:
					var letters []backends.Snapshot
					for _, id := range some(r.IntN(40)) {
						s := seen(id, int64(r.IntN(4))-2)
						letters = append(letters, s)
						m.put(s, frozen)
					}
					must(t, p.Put(t.Context(), letters...))
				case does == 6 && p != nil:
					if whole := r.IntN(3); whole < 2 {
						must(t, p.End(t.Context(), whole == 1))
						if whole == 1 {
							m.whole = m.pass
						}
					}
					must(t, p.Close())
					passes[at] = nil
				case does == 7:
					all := some(5)
					must(t, d.Drop(t.Context(), at, all...))
					for _, id := range all {
						delete(m.letters, id)
					}
				case does == 8:
					all := some(5)
					must(t, d.Received(t.Context(), at, all...))
					for _, id := range all {
						m.received(id, frozen)
					}
				}
				oldest := frozen.Add(-month)
				q := backends.SnapshotQuery{Bodies: r.IntN(2) == 0}
				if r.IntN(2) == 0 {
					q.IDs = some(20)
				}
				if r.IntN(3) == 0 {
					q.After, q.Order = id(), int64(r.IntN(4))-2
				}
				if r.IntN(3) == 0 {
					q.AsOf = frozen.Add(-time.Duration(r.Int64N(int64(month / 5))))
				}
				got := ""
				for s, err := range d.Letters(context.Background(), at, q) {
					must(t, err)
					got += line(*s, q.Bodies)
				}
				if want := m.answer(q, oldest); got != want {
					t.Fatalf("%s, %+v:\n%swant\n%s", at, q, got, want)
				}
			}
		})
	}
}

// forget removes what is too old. Whether a sweep has been there shows nowhere.
func forget(models map[string]*model, oldest time.Time) {
	for _, m := range models {
		maps.DeleteFunc(m.letters, func(_ string, r *remembered) bool { return r.Last.Before(oldest) })
	}
}
