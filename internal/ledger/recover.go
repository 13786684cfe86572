package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Consume takes an intent into the ledger that the audit log has and the ledger
// lacks, because the ledger was put back to an older copy. Its items count as
// intended under their ticket, so that the next executor asks the store; the
// hour's limit counts them; a plan that the ledger does not know at all leaves
// only that count.
func (l *Ledger) Consume(ctx context.Context, plan, run, ticket, physical string, ns []int, at time.Time) error {
	arg, err := json.Marshal(ns)
	if err != nil {
		return err
	}
	return wrap("taking an intent from the log", l.timed(ctx, func(t *txn) error {
		res, err := t.Exec(`INSERT INTO batches(ticket, plan, run, physical, n, at) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
			ticket, plan, run, physical, len(ns), micros(at))
		if err != nil {
			return err
		}
		if fresh, _ := res.RowsAffected(); fresh == 0 {
			return nil // the ledger has it already
		}
		var state State
		if err := noPlan(t.QueryRow(`SELECT state FROM plans WHERE id = ?`, plan).Scan(&state)); err != nil {
			if errors.Is(err, ErrNoPlan) {
				return nil
			}
			return err
		}
		if _, err := t.Exec(`UPDATE items SET state = 'intended', open = 1, ticket = ?2, intended = ?3, at = ?3
			WHERE plan = ?1 AND state = 'claimed' AND n IN (SELECT value FROM json_each(?4))`, plan, ticket, micros(at), string(arg)); err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE plans SET state = 'running', run = ?2, fence = fence + 1, lease = 0, ended = 0 WHERE id = ?1`, plan, run)
		return err
	}))
}

// Settle ends items that nobody can prove, and in the same transaction the plan
// when it was the last.
func (l *Ledger) Settle(ctx context.Context, plan string, outcomes []backends.Outcome) error {
	return wrap("settling "+plan, l.timed(ctx, func(t *txn) error {
		if err := t.outcomes(plan, outcomes); err != nil {
			return err
		}
		c, err := t.counts(plan)
		if err != nil || c.Unknown > 0 || c.InDoubt > 0 {
			return err
		}
		var state State
		if err := t.QueryRow(`SELECT state FROM plans WHERE id = ?`, plan).Scan(&state); err != nil {
			return noPlan(err)
		}
		if state != Unknown {
			return nil // its run goes on
		}
		return t.move(plan, c.state(false), "a person settled what was unknown")
	}))
}
