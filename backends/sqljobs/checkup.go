package sqljobs

import (
	"context"
	"fmt"
	"time"
)

// CheckUp connects with both roles and says what an operator should know: it
// fails for what would make a redrive fail, and warns of the rest.
func (s *Store) CheckUp(ctx context.Context, queue string) ([]string, error) {
	m, err := s.mapping(ctx, queue)
	if err != nil {
		return nil, err
	}
	warnings := s.Can(queue).Warnings
	for _, p := range []purpose{look, send} {
		err := s.within(ctx, p, m, func(t tx) error {
			more, err := s.engine.audit(ctx, t, p, s, m)
			warnings = append(warnings, more...)
			if err != nil || p == look {
				return err
			}
			return s.rehearse(ctx, t, m)
		})
		if err != nil {
			return nil, s.explain(err)
		}
	}
	for _, ask := range []func(context.Context, tx, *mapping) ([]string, error){s.undated, s.behind, s.engine.unindexed} {
		err := s.within(ctx, look, m, func(t tx) error {
			more, err := ask(ctx, t, m)
			warnings = append(warnings, more...)
			return err
		})
		if err != nil {
			return nil, s.explain(err)
		}
	}
	return warnings, nil
}

// behind warns of a replica that lags.
func (s *Store) behind(ctx context.Context, t tx, _ *mapping) ([]string, error) {
	lag, err := s.engine.lag(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case lag < 0:
		return []string{"looking leads to a replica, and how far it is behind is not known: a listing may lack letters and show some that are dead no more"}, nil
	case lag >= time.Second:
		return []string{fmt.Sprintf("looking leads to a replica that is %s behind: a listing lacks letters and shows some that are dead no more", lag.Round(time.Second))}, nil
	}
	return nil, nil
}

// undated warns of dead rows that have no time of death: they have no place in
// the order of a listing, so they are in none.
func (s *Store) undated(ctx context.Context, t tx, m *mapping) (warnings []string, err error) {
	c, ok := m.cat.column(m.jobs.DeadAt.Column)
	if !ok || c.notNull {
		return nil, nil
	}
	q := m.d.stmt("SELECT 1 FROM ").add(m.table(), " WHERE ", m.jobs.Dead.sql(), " AND ", quote(c.name), " IS NULL LIMIT 1")
	err = t.query(ctx, q, func([]value) error {
		warnings = append(warnings, fmt.Sprintf("some dead rows of %s have no %s; they are not listed", m.jobs.Table, c.name))
		return nil
	})
	return warnings, err
}

// sendable is asked before the first redrive: what the writing role lacks is
// found before anything is locked.
func (s *Store) sendable(ctx context.Context, queue string) (*mapping, error) {
	m, err := s.mapping(ctx, queue)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	audited := m.audited
	s.mu.Unlock()
	if audited {
		return m, nil
	}
	err = s.within(ctx, send, m, func(t tx) error {
		if _, err := s.engine.audit(ctx, t, send, s, m); err != nil {
			return err
		}
		return s.rehearse(ctx, t, m)
	})
	if err != nil {
		return nil, s.explain(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.audited = true
	return m, nil
}

// rehearse lets the database plan the writes of a redrive without running
// them: labels of an enum, types, columns and privileges are all checked.
func (s *Store) rehearse(ctx context.Context, t tx, m *mapping) error {
	var writes []*stmt
	if len(m.jobs.Redrive.changes()) > 0 {
		w := m.d.stmt("UPDATE ").add(m.table(), " SET ")
		if err := m.assign(w, "reset", nil); err != nil {
			return err
		}
		writes = append(writes, m.where(w))
	}
	if in := m.jobs.Redrive.Insert; in != nil {
		writes = append(writes, m.copies(nil))
		if in.Delete {
			writes = append(writes, m.where(m.d.stmt("DELETE FROM ").add(m.table())))
		}
	}
	for _, w := range writes {
		plan := m.d.stmt("EXPLAIN ").add(w.String())
		plan.args = w.args
		if err := t.query(ctx, plan, func([]value) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
