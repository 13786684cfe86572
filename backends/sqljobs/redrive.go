package sqljobs

import (
	"context"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Redrive sends the items batch by batch, each in one transaction.
func (s *Store) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	m, err := s.sendable(ctx, o.Queue)
	if err != nil {
		return err
	}
	if err := m.jobs.accepts(o.Attempts); err != nil {
		return err
	}
	if err := s.makeReceipts(ctx, m); err != nil {
		return s.explain(err)
	}
	if j, ok := j.(backends.Ahead); ok && s.overlaps {
		return s.redriveAhead(ctx, m, o, j)
	}
	for rest := o.Items; len(rest) > 0; {
		n, err := j.Admit(ctx, min(s.batch, len(rest)))
		if err != nil {
			return err
		}
		b := s.newBatch(m, o, &rest, n)
		if err := b.run(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// newBatch takes the next n items.
func (s *Store) newBatch(m *mapping, o backends.Order, rest *[]backends.Item, n int) *batch {
	n = min(max(n, 1), s.batch, len(*rest))
	b := &batch{store: s, m: m, attempts: o.Attempts, items: (*rest)[:n]}
	*rest = (*rest)[n:]
	return b
}

// accepts checks how many attempts an order gives. A new row starts with what
// the policy sets, so that an insert knows no other budget.
func (j *Jobs) accepts(attempts string) error {
	if j.Redrive.Insert != nil && attempts != "reset" && attempts != "" {
		return backends.Errorf(backends.BadMapping, nil, "a redrive by insert makes a new row, whose attempts cannot be %q", attempts).
			WithHint("use reset, and set the attempts of the new row in jobs.redrive.insert.set")
	}
	_, err := j.budget(attempts)
	return err
}

// tries bounds how often a batch is started again after a deadlock or a
// serialization failure.
const tries = 3

// run sends one batch from the beginning to the end.
func (b *batch) run(ctx context.Context, j backends.Journal) error {
	defer b.rollback()
	if err := b.ready(ctx); err != nil {
		return err
	}
	if len(b.hits) == 0 {
		return j.Record(ctx, b.outcomes...)
	}
	if err := j.Intend(ctx, b.ticket, b.numbers()...); err != nil {
		return err
	}
	sent, err := b.send(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	err = j.Record(ctx, b.outcomes...)
	if sent {
		b.store.wake(ctx, b.m)
	}
	return err
}

// ready prepares a batch, and starts again where that may help: nothing is
// intended yet.
func (b *batch) ready(ctx context.Context) error {
	for try := 1; ; try++ {
		b.reset()
		err := b.prepare(ctx)
		if err == nil {
			return nil
		}
		f := b.store.engine.fault(err)
		switch {
		case f.badInput && try == 1:
			b.rollback() // the locks of this try must not stand in the way
			if err := b.sieve(ctx); err != nil {
				return b.explain(ctx, err)
			}
		case f.retry && try < tries:
		case f.retry:
			b.giveUp()
			return nil
		default:
			b.rollback()
			return b.explain(ctx, err)
		}
	}
}

// explain names a missing privilege: also one that only this batch needs.
func (b *batch) explain(ctx context.Context, err error) error {
	var columns []string
	j := b.m.jobs
	if isCount(b.attempts) {
		columns = append(columns, j.MaxAttempts)
	}
	if slices.ContainsFunc(b.items, func(it backends.Item) bool { return it.Body != nil }) {
		columns = append(columns, j.Payload.Column)
	}
	if j.Redrive.Update == nil {
		columns = nil // a new row takes both with its INSERT
	}
	return b.store.denied(ctx, b.m, columns, err)
}

// sieve sets aside the items whose ids cannot be ids of this table.
func (b *batch) sieve(ctx context.Context) error {
	ids := make([]string, len(b.items))
	for i, it := range b.items {
		ids[i] = it.Ref.ID
	}
	possible, err := b.store.possible(ctx, send, b.m, ids)
	b.possible = map[string]bool{}
	for _, id := range possible {
		b.possible[idText(id)] = true
	}
	return err
}

// giveUp skips rows that were too contended to be sent.
func (b *batch) giveUp() {
	b.reset()
	for _, it := range b.items {
		b.skip(it.N, backends.Busy)
	}
}
