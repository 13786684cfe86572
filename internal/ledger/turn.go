package ledger

import (
	"context"
	"fmt"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Before is a batch that was sent, while the next is intended.
type Before struct {
	Ticket   string // "" for none
	Outcomes []backends.Outcome
}

// split takes out what was sent. All of that has one end, so the ledger notes for
// the batch, not for each item, that the log lacks it.
func (b Before) split() (done []int, rest []backends.Outcome) {
	for _, o := range b.Outcomes {
		if o.State == backends.Done && o.Code == "" && o.NewID == "" && b.Ticket != "" {
			done = append(done, o.N)
		} else {
			rest = append(rest, o)
		}
	}
	return done, rest
}

// Turn stores what came of one batch and the intent of the next, for which
// nothing needs to be reserved because nothing limits the plan. After an error
// nothing is stored.
func (l *Ledger) Turn(ctx context.Context, plan, run string, fence int64, b Before, ticket string, ns []int) error {
	err := l.timed(ctx, func(t *txn) error {
		if t.lag != nil {
			return t.lag
		}
		if err := t.fence(plan, fence); err != nil {
			return err
		}
		done, rest := b.split()
		if err := t.done(plan, b.Ticket, done); err != nil {
			return err
		}
		if err := t.outcomes(plan, rest); err != nil {
			return err
		}
		return t.intend(plan, run, ticket, ns)
	})
	return wrap("storing outcomes and an intent of "+plan, err)
}

// done stores that items of one batch were sent.
func (t *txn) done(plan, ticket string, ns []int) error {
	if len(ns) == 0 {
		return nil
	}
	hit, err := t.spread(spansOf(ns), `UPDATE items SET state = 'done', code = '', open = 0, at = ?5
		WHERE plan = ?3 AND n BETWEEN ?1 AND ?2 AND batch = (SELECT id FROM batches WHERE ticket = ?4) AND state = 'intended'`, plan, ticket, t.now)
	if err != nil {
		return err
	}
	if hit != len(ns) {
		return &MoveError{What: fmt.Sprintf("%d of %d items", len(ns)-hit, len(ns)), From: "not intended", To: string(backends.Done)}
	}
	_, err = t.Exec(`UPDATE batches SET owed = 1 WHERE ticket = ?`, ticket)
	return err
}

// Turned is Intended for a Turn: the log has both.
func (l *Ledger) Turned(ctx context.Context, plan string, fence int64, b Before, h Head) error {
	return wrap("noting the log's record of a batch and an intent", l.timed(ctx, func(t *txn) error {
		if err := t.fence(plan, fence); err != nil {
			return err
		}
		done, rest := b.split()
		if len(done) > 0 {
			if _, err := t.Exec(`UPDATE batches SET owed = 0 WHERE ticket = ?`, b.Ticket); err != nil {
				return err
			}
		}
		return t.audited(plan, rest, h)
	}))
}
