package ledger

import (
	"context"
	"fmt"
)

// Intend makes durable that these items, which were reserved before, are about to
// be sent under a ticket.
func (l *Ledger) Intend(ctx context.Context, plan, run string, fence int64, ticket string, ns []int) error {
	err := l.timed(ctx, func(t *txn) error {
		if t.lag != nil {
			return t.lag
		}
		if err := t.fence(plan, fence); err != nil {
			return err
		}
		if err := t.spend(plan, len(ns)); err != nil {
			return err
		}
		return t.intend(plan, run, ticket, ns)
	})
	return wrap("storing an intent of "+plan, err)
}

func (t *txn) intend(plan, run, ticket string, ns []int) error {
	res, err := t.Exec(`INSERT INTO batches(ticket, plan, run, physical, n, at) SELECT ?1, id, ?2, physical, ?3, ?4 FROM plans WHERE id = ?5`,
		ticket, run, len(ns), t.now, plan)
	if err != nil {
		return err
	}
	batch, err := res.LastInsertId()
	if err != nil {
		return err
	}
	hit, err := t.spread(spansOf(ns), `UPDATE items SET state = 'intended', batch = ?4, intended = ?5, at = ?5, owed = 0
		WHERE plan = ?3 AND n BETWEEN ?1 AND ?2 AND state = 'claimed' AND open = 1`, plan, batch, t.now)
	if err != nil {
		return err
	}
	if hit != len(ns) {
		return &MoveError{What: fmt.Sprintf("%d of %d items", len(ns)-hit, len(ns)), From: "not claimed", To: "intended"}
	}
	return nil
}

// Intended notes the log's record of an intent. Its error is a FenceError if the
// plan was lost since Intend: then the intent must have no effect.
func (l *Ledger) Intended(ctx context.Context, plan string, fence int64, h Head) error {
	return wrap("noting the log's record of an intent", l.timed(ctx, func(t *txn) error {
		if err := t.fence(plan, fence); err != nil {
			return err
		}
		return t.setHead(h)
	}))
}
