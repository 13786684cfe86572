package sqljobs

import (
	"context"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// mapping is the queue on the table that the database has. It is looked up at
// the first use and kept: a table that changes later makes statements fail,
// and never changes what they mean. For another database it is looked up anew.
// Two callers may look it up at once, and find the same.
func (s *Store) mapping(ctx context.Context, queue string) (*mapping, error) {
	here, err := s.engine.home()
	if err != nil {
		return nil, s.explain(err)
	}
	s.mu.Lock()
	m := s.mapped[queue]
	s.mu.Unlock()
	if m != nil && (here == nil || m.home == here) {
		return m, nil
	}
	m, err = s.fit(ctx, queue)
	if err != nil {
		return nil, s.explain(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mapped[queue] = m
	return m, nil
}

func (s *Store) fit(ctx context.Context, queue string) (*mapping, error) {
	selector, ok := s.sources[queue]
	if !ok {
		return nil, misfit("queues", "the queue is not one of this backend")
	}
	var m *mapping
	err := s.within(ctx, look, nil, func(t tx) error {
		cat, err := s.engine.describe(ctx, t, s.jobs.Table)
		if err != nil {
			return err
		}
		if cat == nil {
			return misfit("jobs.table", "there is no table %s, or this role may not see it", s.jobs.Table)
		}
		if err := s.jobs.fits(cat); err != nil {
			return err
		}
		m = newMapping(queue, selector, s.jobs, cat, s.engine.dialect())
		m.home = t.home()
		if err := s.fitInto(ctx, t, m); err != nil {
			return err
		}
		if _, err := s.engine.audit(ctx, t, look, s, m); err != nil {
			return err
		}
		// The predicate, the values and the queue are tried once, so that a
		// fault in them is found here and not in the middle of a redrive.
		return t.query(ctx, m.page(m.rows(false), nil, 1), func([]value) error { return nil })
	})
	return m, err
}

// misfit is a mapping that does not fit the table.
func misfit(key, format string, args ...any) *backends.Error {
	return backends.Errorf(backends.BadMapping, nil, key+": "+format, args...)
}

// fits checks the mapping against the table. Missing columns are all named at
// once, so that they can all be corrected at once.
func (j *Jobs) fits(cat *catalog) error {
	var missing []string
	for _, c := range j.mapped() {
		if _, ok := cat.column(c); c != "" && !ok && !slices.Contains(missing, c) {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		return misfit("jobs", "the table %s has no column %s", j.Table, strings.Join(missing, ", "))
	}
	for _, check := range []func(*catalog) error{j.fitID, j.fitTimes, j.fitChanges, j.fitPayload} {
		if err := check(cat); err != nil {
			return err
		}
	}
	return nil
}

// mapped are all columns of the job table that the policy names.
func (j *Jobs) mapped() []string {
	out := append(j.roles(), j.failure()...)
	if in := j.Redrive.Insert; in != nil {
		for _, source := range in.Columns {
			out = append(out, source)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (j *Jobs) fitID(cat *catalog) error {
	if cat.view {
		if j.DeadAt.Column == "" {
			return misfit("jobs.dead_at", "a view has no row versions, so a time of death is needed")
		}
		return nil
	}
	want := slices.Sorted(slices.Values(j.ID))
	for _, u := range cat.unique {
		if slices.Equal(slices.Sorted(slices.Values(u)), want) {
			return nil
		}
	}
	return misfit("jobs.id", "no unique index covers exactly %s", strings.Join(j.ID, ", ")).
		WithHint("name the columns of the primary key, or of a unique index without a condition")
}

func (j *Jobs) times() map[string]TimeColumn {
	return map[string]TimeColumn{"jobs.enqueued_at": j.EnqueuedAt, "jobs.last_attempt_at": j.LastAttemptAt, "jobs.dead_at": j.DeadAt}
}

func (j *Jobs) fitTimes(cat *catalog) error {
	times := j.times()
	for _, key := range sortedKeys(times) {
		t := times[key]
		c, ok := cat.column(t.Column)
		if !ok {
			continue
		}
		switch {
		case integerType(c.typ) && t.Unit == "":
			return misfit(key, "%s holds numbers, so a unit is needed", t.Column).WithHint("write {column: %s, unit: s}, or ms or us", t.Column)
		case c.typ == "timestamp without time zone" && t.TZ == "":
			return misfit(key, "%s has no time zone of its own, so one is needed", t.Column).WithHint("write {column: %s, tz: utc}", t.Column)
		}
	}
	return nil
}

// fitChanges refuses to set what must not change: PostgreSQL would move the
// row to another partition, and a generated column takes no value.
func (j *Jobs) fitChanges(cat *catalog) error {
	for _, name := range sortedKeys(j.Redrive.changes()) {
		c, _ := cat.column(name)
		switch {
		case c.generated:
			return misfit("jobs.redrive", "%s is a generated column and cannot be set", name)
		case c.partition:
			return misfit("jobs.redrive", "%s is part of the partition key and is never set", name)
		}
	}
	return nil
}

func (j *Jobs) fitPayload(cat *catalog) error {
	c, _ := cat.column(j.Payload.Column)
	if strings.HasSuffix(c.typ, "[]") {
		return misfit("jobs.payload", "%s holds an array, which is no payload", c.name)
	}
	return nil
}

// fitInto checks the table that an insert goes to.
func (s *Store) fitInto(ctx context.Context, t tx, m *mapping) (err error) {
	in := s.jobs.Redrive.Insert
	if in == nil {
		return nil
	}
	if m.into, err = s.engine.describe(ctx, t, in.Into); err != nil {
		return err
	}
	if m.into == nil {
		return misfit("jobs.redrive.insert.into", "there is no table %s, or this role may not see it", in.Into)
	}
	var missing []string
	for _, name := range slices.Concat(sortedKeys(in.Columns), sortedKeys(in.Set), in.Returning) {
		c, ok := m.into.column(name)
		if !ok {
			missing = append(missing, name)
		}
		if c.generated && !slices.Contains(in.Returning, name) {
			return misfit("jobs.redrive.insert", "%s is a generated column and cannot be set", name)
		}
	}
	if len(missing) > 0 {
		return misfit("jobs.redrive.insert", "the table %s has no column %s", in.Into, strings.Join(missing, ", "))
	}
	return nil
}
