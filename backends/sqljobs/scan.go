package sqljobs

import (
	"context"
	"iter"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Pages bound what a scan holds in memory: rows, and with bodies their bytes.
const (
	headPage  = 1000
	bodyPage  = 100
	pageBytes = 8 << 20
)

// Scan reads the queue page by page, each in a short transaction of its own,
// so that a slow reader holds neither a lock nor an old snapshot.
func (s *Store) Scan(ctx context.Context, q backends.Query) iter.Seq2[*backends.DeadLetter, error] {
	return func(yield func(*backends.DeadLetter, error) bool) {
		m, err := s.mapping(ctx, q.Queue)
		if err != nil {
			yield(nil, err)
			return
		}
		if q.Fold && s.streams && !m.xmin && !q.Bodies && q.IDs == nil && q.After == "" {
			if err := s.fold(ctx, m, q.AsOf, yield); err != nil {
				yield(nil, s.explain(err))
			}
			return
		}
		sc := &scan{store: s, m: m, q: q}
		if err := sc.start(); err != nil {
			yield(nil, s.explain(err))
			return
		}
		if err := sc.run(ctx, yield); err != nil {
			yield(nil, s.explain(err))
		}
	}
}

// scan is one scan on its way through the queue.
type scan struct {
	store *Store
	m     *mapping
	q     backends.Query
	ids   [][]value
	asked map[string]bool
	probe bool // an id may be none of this table
	after []value
	limit int // rows of the next page
	most  int // rows of a page, fewer where rows are large
}

func (sc *scan) start() error {
	sc.most = headPage
	if sc.q.Bodies {
		sc.most = bodyPage
	}
	sc.limit = sc.most
	if sc.q.Want > 0 {
		sc.limit = min(sc.limit, sc.q.Want)
	}
	if sc.q.After != "" {
		var ok bool
		if sc.after, ok = parsePosition(sc.q.After, len(sc.m.order())); !ok {
			return badPosition(nil)
		}
	}
	if sc.q.IDs == nil {
		return nil
	}
	if len(sc.q.IDs) > maxIDs {
		return backends.Errorf(backends.BadID, nil, "more than %d ids were asked for at once", maxIDs)
	}
	sc.asked = map[string]bool{}
	for _, id := range sc.q.IDs {
		sc.asked[id] = true
	}
	sc.ids, sc.probe = sc.m.spelled(sc.q.IDs), true
	// What is named comes in one page: to find it again for each page costs more
	// than to read it.
	if sc.q.Want == 0 {
		sc.most = headPage
		sc.limit = min(len(sc.ids)+1, headPage)
	}
	return nil
}

func badPosition(cause error) error {
	return backends.Errorf(backends.BadPosition, cause, "the position is not one of this queue").
		WithHint("start the listing again")
}

func (sc *scan) run(ctx context.Context, yield func(*backends.DeadLetter, error) bool) error {
	for sc.q.IDs == nil || len(sc.ids) > 0 {
		rows, more, err := sc.page(ctx)
		if sc.probe && err != nil && sc.store.engine.fault(err).badInput {
			if err := sc.sieve(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return sc.misplaced(err)
		}
		for _, row := range rows {
			l := sc.m.letter(row, sc.q.Bodies)
			if sc.wanted(l) && !yield(l, nil) {
				return nil
			}
		}
		if !more {
			return nil
		}
		sc.after = sc.m.key(rows[len(rows)-1])
	}
	return nil
}

// sieve leaves out ids that cannot be ids of this table.
func (sc *scan) sieve(ctx context.Context) (err error) {
	sc.probe = false
	sc.ids, err = sc.store.possible(ctx, look, sc.m, sc.q.IDs)
	return err
}

// misplaced explains a value that the database does not take: it can only be of
// the position by now.
func (sc *scan) misplaced(err error) error {
	if sc.q.After != "" && sc.store.engine.fault(err).badInput {
		return badPosition(err)
	}
	return err
}

// wanted compares the id that came back with those asked for: the database
// finds the number 7 for 07, but no letter has that id.
func (sc *scan) wanted(l *backends.DeadLetter) bool {
	if sc.asked != nil && !sc.asked[l.ID] {
		return false
	}
	return sc.q.AsOf.IsZero() || !l.Times.Dead.After(sc.q.AsOf)
}

// page reads one page. It stops early when the rows become large, and reads
// fewer at once from then on; else a reader who goes on gets larger ones.
func (sc *scan) page(ctx context.Context) (rows [][]value, more bool, err error) {
	size := 0
	s := sc.m.rows(sc.q.Bodies)
	if sc.ids != nil {
		sc.m.having(s, sc.ids)
	}
	sc.m.page(s, sc.after, sc.limit)
	err = sc.store.within(ctx, look, sc.m, func(t tx) error {
		return t.query(ctx, s, func(row []value) error {
			kept := make([]value, len(row))
			for i, v := range row {
				kept[i] = v.clone()
				size += len(v.bytes)
			}
			rows = append(rows, kept)
			if size >= pageBytes {
				return errEnough
			}
			return nil
		})
	})
	more = len(rows) == sc.limit || size >= pageBytes
	if size >= pageBytes {
		sc.most = len(rows)
	}
	sc.limit = min(4*sc.limit, sc.most)
	return rows, more, err
}

// possible reads ids and leaves out those that cannot be ids of the queue. The
// database itself says which: it converts each to its column's type, and a
// list with a bad one among them is halved until the bad one stands alone.
func (s *Store) possible(ctx context.Context, p purpose, m *mapping, ids []string) ([][]value, error) {
	return s.halve(ctx, p, m, m.spelled(ids))
}

// spelled are the ids that are spelled as this table's are.
func (m *mapping) spelled(ids []string) [][]value {
	out := make([][]value, 0, len(ids))
	for _, id := range ids {
		if vs, ok := idValues(id, m.idBlobs); ok {
			out = append(out, vs)
		}
	}
	return out
}

func (s *Store) halve(ctx context.Context, p purpose, m *mapping, ids [][]value) ([][]value, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	probe := m.having(m.where(m.d.stmt("SELECT 1 FROM ").add(m.table())), ids).add(" LIMIT 0")
	err := s.within(ctx, p, m, func(t tx) error {
		return t.query(ctx, probe, func([]value) error { return nil })
	})
	switch {
	case err == nil:
		return ids, nil
	case !s.engine.fault(err).badInput:
		return nil, err
	case len(ids) == 1:
		return nil, nil
	}
	left, err := s.halve(ctx, p, m, ids[:len(ids)/2])
	if err != nil {
		return nil, err
	}
	right, err := s.halve(ctx, p, m, ids[len(ids)/2:])
	return slices.Concat(left, right), err
}
