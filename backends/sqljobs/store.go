package sqljobs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const (
	maxBatch = 500
	countCap = 10_000
	maxIDs   = 10_000
)

// Store is the job table of one backend.
type Store struct {
	name     string
	engine   engine
	jobs     *Jobs
	sources  map[string]string // queue of the policy -> value of the queue column
	receipts Table             // nil: none
	makes    bool              // the receipts table is made if it is missing
	batch    int               // items of one ticket
	overlaps bool              // two transactions can write at the same time
	streams  bool              // a long read keeps nobody from writing

	mu     sync.Mutex
	mapped map[string]*mapping
}

// Can states what the policy alone decides.
func (s *Store) Can(queue string) backends.Can {
	can := backends.Can{
		Random: true, Atomic: true, Ordered: s.jobs.DeadAt.Column != "", Dated: s.jobs.DeadAt.Column != "", Reasons: s.jobs.Error.Column != "",
		Batch: s.batch, CountCap: countCap, Effect: s.effect(), Where: s.jobs.places(),
	}
	if s.receipts == nil {
		can.Warnings = append(can.Warnings, "there is no receipts table, so a redrive that is interrupted may stay unknown")
	}
	return can
}

func (s *Store) effect() string {
	j := s.jobs
	if in := j.Redrive.Insert; in != nil {
		fate := "marked in " + j.Table.String()
		if in.Delete {
			fate = "deleted from " + j.Table.String()
		}
		return fmt.Sprintf("a new row is inserted into %s and the dead row is %s, in one transaction", in.Into, fate)
	}
	return fmt.Sprintf("the same row of %s is queued again by setting %s, in one transaction%s",
		j.Table, strings.Join(sortedKeys(j.Redrive.changes()), ", "), j.tells())
}

// tells says what becomes of the attempts, whatever an order gives.
func (j *Jobs) tells() string {
	switch {
	case j.Attempts == "":
		return ""
	case j.MaxAttempts == "":
		return fmt.Sprintf("; a reset of the attempts sets %s to 0", j.Attempts)
	}
	return fmt.Sprintf("; a reset of the attempts sets %s to 0, and a number of further ones sets %s", j.Attempts, j.MaxAttempts)
}

// Target is the identity of the table that the live connection leads to.
func (s *Store) Target(ctx context.Context, queue string) (backends.Target, error) {
	m, err := s.mapping(ctx, queue)
	if err != nil {
		return backends.Target{}, err
	}
	t, err := s.engine.target(ctx, m)
	return t, s.explain(err)
}

// Lag is how far a replica that is read may be behind.
func (s *Store) Lag(ctx context.Context, queue string) (lag time.Duration, err error) {
	m, err := s.mapping(ctx, queue)
	if err != nil {
		return 0, err
	}
	err = s.within(ctx, look, m, func(t tx) error {
		lag, err = s.engine.lag(ctx, t)
		return err
	})
	return lag, s.explain(err)
}

// Now is the clock of the database.
func (s *Store) Now(ctx context.Context, queue string) (now time.Time, err error) {
	m, err := s.mapping(ctx, queue)
	if err != nil {
		return now, err
	}
	err = s.within(ctx, look, m, func(t tx) error {
		return t.query(ctx, m.d.stmt("SELECT "+m.d.now), func(row []value) error {
			now = TimeColumn{}.at(row[0])
			return nil
		})
	})
	return now, s.explain(err)
}

// Depth counts at most Can.CountCap letters.
func (s *Store) Depth(ctx context.Context, queue string) (backends.Depth, error) {
	m, err := s.mapping(ctx, queue)
	if err != nil {
		return backends.Depth{}, err
	}
	var d backends.Depth
	err = s.within(ctx, look, m, func(t tx) error {
		return t.query(ctx, m.depth(), func(row []value) error {
			d = m.readDepth(row)
			return nil
		})
	})
	return d, s.explain(err)
}

// depth asks for the count, the earliest and the latest death.
func (m *mapping) depth() *stmt {
	q := m.d.stmt("SELECT (SELECT count(*) FROM (SELECT 1 FROM ").add(m.table())
	m.where(q).add(" LIMIT ", fmt.Sprint(countCap+1), ") AS few)")
	if m.xmin {
		return q.add(", NULL, NULL")
	}
	dead := quote(m.jobs.DeadAt.Column)
	for _, order := range []string{" ASC", " DESC"} {
		q.add(", (SELECT ", m.d.read(m.cat.columns[m.at[m.jobs.DeadAt.Column]], ""), " FROM ", m.table())
		m.where(q).add(" ORDER BY ", dead, order, " LIMIT 1)")
	}
	return q
}

func (m *mapping) readDepth(row []value) backends.Depth {
	n := count(row[0])
	d := backends.Depth{
		Letters: min(n, countCap), Capped: n > countCap,
		Oldest: m.jobs.DeadAt.at(row[1]), Newest: m.jobs.DeadAt.at(row[2]),
	}
	if keep := time.Duration(m.jobs.ExpiresAfter); keep > 0 && !d.Oldest.IsZero() {
		d.Expires = d.Oldest.Add(keep)
	}
	return d
}

// within runs do in a transaction that is always rolled back: for reading.
func (s *Store) within(ctx context.Context, p purpose, m *mapping, do func(tx) error) error {
	t, err := s.begin(ctx, p, m)
	if err != nil {
		return err
	}
	defer t.rollback()
	return do(t)
}

// begin starts a transaction on what the mapping was made for, and on nothing
// else. Without a mapping it may be anything.
func (s *Store) begin(ctx context.Context, p purpose, m *mapping) (tx, error) {
	t, err := s.engine.begin(ctx, p)
	if err == nil && m != nil && t.home() != m.home {
		t.rollback()
		s.forget(m)
		return nil, s.engine.moved(p)
	}
	return t, err
}

// forget makes the next call look at the table anew.
func (s *Store) forget(m *mapping) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mapped[m.queue] == m {
		delete(s.mapped, m.queue)
	}
}

// wake tells workers that there is work. It is a courtesy: workers that miss
// it find the work by polling, so a failure is no failure of the redrive.
func (s *Store) wake(ctx context.Context, m *mapping) {
	if n := s.jobs.Redrive.Notify; n != nil {
		_ = s.engine.wake(ctx, n, m.selector)
	}
}

// Close closes all connections.
func (s *Store) Close() error { return s.engine.close() }
