package ledger

import (
	"context"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

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
