package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Intend makes durable that these items, which were reserved before, are about to
// be sent under a ticket.
func (l *Ledger) Intend(ctx context.Context, plan, run string, fence int64, ticket string, ns []int) error {
	arg, err := json.Marshal(ns)
	if err != nil {
		return err
	}
	err = l.timed(ctx, func(t *txn) error {
		if t.lag != nil {
			return t.lag
		}
		if err := t.fence(plan, fence); err != nil {
			return err
		}
		if err := t.spend(plan, len(ns)); err != nil {
			return err
		}
		res, err := t.Exec(`UPDATE items SET state = 'intended', ticket = ?2, intended = ?3, at = ?3
			WHERE plan = ?1 AND state = 'claimed' AND open = 1 AND n IN (SELECT value FROM json_each(?4))`, plan, ticket, t.now, string(arg))
		if err != nil {
			return err
		}
		if hit, _ := res.RowsAffected(); hit != int64(len(ns)) {
			return &MoveError{What: fmt.Sprintf("%d of %d items", len(ns)-int(hit), len(ns)), From: "not claimed", To: "intended"}
		}
		_, err = t.Exec(`INSERT INTO batches(ticket, plan, run, physical, n, at) SELECT ?1, id, ?2, physical, ?3, ?4 FROM plans WHERE id = ?5`,
			ticket, run, len(ns), t.now, plan)
		return err
	})
	return wrap("storing an intent of "+plan, err)
}

// kind is what outcomes of one batch have in common, so that one statement
// stores all of them.
type kind struct {
	state backends.State
	code  backends.Code
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

// Record makes outcomes durable and returns those that it stored: all, or, for an
// executor that lost its fence, what became of the items that it intended itself
// and of which nobody has said it yet. An outcome that the tables do not allow is
// an error, and nothing is stored then. Intended is no outcome: only Intend leads
// there.
func (l *Ledger) Record(ctx context.Context, plan, run string, fence int64, outcomes []backends.Outcome) (stored []backends.Outcome, err error) {
	err = l.timed(ctx, func(t *txn) error {
		stored = outcomes
		var lost *FenceError
		if err := t.fence(plan, fence); errors.As(err, &lost) {
			if stored, err = t.own(plan, run, outcomes); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		return t.outcomes(plan, stored)
	})
	if err != nil {
		return nil, wrap("storing outcomes of "+plan, err)
	}
	return stored, nil
}

// own are the outcomes of items that a run has intended and that are still so.
func (t *txn) own(plan, run string, outcomes []backends.Outcome) (own []backends.Outcome, err error) {
	rows, err := t.Query(`SELECT i.n FROM items i JOIN batches b ON b.ticket = i.ticket
		WHERE i.plan = ? AND b.run = ? AND i.state IN ('intended','sent')`, plan, run)
	if err != nil {
		return nil, err
	}
	ns, err := scanAll[int](rows)
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if slices.Contains(ns, o.N) {
			own = append(own, o)
		}
	}
	return own, nil
}

func (t *txn) outcomes(plan string, outcomes []backends.Outcome) error {
	groups := map[kind][]int{}
	for _, o := range outcomes {
		k := kind{o.State, o.Code}
		groups[k] = append(groups[k], o.N)
	}
	for k, ns := range groups {
		if err := t.record(plan, k, ns); err != nil {
			return err
		}
	}
	return t.newIDs(plan, outcomes)
}

func (t *txn) record(plan string, k kind, ns []int) error {
	arg, err := json.Marshal(ns)
	if err != nil {
		return err
	}
	list := string(arg)
	if err := t.allowed(plan, k.state, list, len(ns)); err != nil {
		return err
	}
	if err := t.ticketless(plan, list); err != nil {
		return err
	}
	unsent := k.state == backends.Claimed || k.state == backends.Skipped || k.state == backends.Failed
	// What was intended and not sent gives its place in the hour's limit back.
	if _, err := t.Exec(`UPDATE batches SET recorded = 1, n = n - iif(?3, (SELECT count(*) FROM items
			WHERE plan = ?1 AND ticket = batches.ticket AND intended > 0 AND n IN (SELECT value FROM json_each(?2))), 0)
		WHERE ticket IN (SELECT ticket FROM items WHERE plan = ?1 AND n IN (SELECT value FROM json_each(?2)))`,
		plan, list, unsent); err != nil {
		return err
	}
	// An item that goes back to claimed keeps its ticket until the next intent,
	// so that Unaudited leads to this outcome.
	_, err = t.Exec(`UPDATE items SET state = ?3, code = ?4, open = ?5, at = ?6, intended = iif(?7, 0, intended)
		WHERE plan = ?1 AND n IN (SELECT value FROM json_each(?2))`,
		plan, list, string(k.state), string(k.code), holdsClaim(k.state), t.now, unsent)
	return err
}

// ticketless gives items that end without an intent a ticket of their own, which
// counts nothing, so that Unaudited leads to their outcomes too.
func (t *txn) ticketless(plan, list string) error {
	own := NewID("n")
	res, err := t.Exec(`UPDATE items SET ticket = ?3 WHERE plan = ?1 AND ticket = '' AND n IN (SELECT value FROM json_each(?2))`, plan, list, own)
	if err != nil {
		return err
	}
	if hit, _ := res.RowsAffected(); hit == 0 {
		return nil
	}
	_, err = t.Exec(`INSERT INTO batches(ticket, plan, run, physical, n, at) SELECT ?1, id, run, physical, 0, ?2 FROM plans WHERE id = ?3`, own, t.now, plan)
	return err
}

// holdsClaim reports whether an item in this state keeps its letter claimed.
func holdsClaim(s backends.State) bool {
	return s == backends.Claimed || s == backends.Intended || s == backends.Sent || s == backends.Doubtful
}

// allowed checks every move of a batch against the table.
func (t *txn) allowed(plan string, to backends.State, list string, want int) error {
	rows, err := t.Query(`SELECT state, count(*) FROM items WHERE plan = ? AND n IN (SELECT value FROM json_each(?)) GROUP BY state`, plan, list)
	if err != nil {
		return err
	}
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var from backends.State
		var n int
		if err := rows.Scan(&from, &n); err != nil {
			return err
		}
		if to == backends.Intended || !CanMoveItem(from, to) {
			return &MoveError{What: fmt.Sprintf("%d items of %s", n, plan), From: string(from), To: string(to)}
		}
		seen += n
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if seen != want {
		return fmt.Errorf("%d of %d outcomes name no item of %s, or one twice", want-seen, want, plan)
	}
	return nil
}

// newIDs stores the ids that sends returned, which differ from item to item.
func (t *txn) newIDs(plan string, outcomes []backends.Outcome) error {
	stmt, err := t.Prepare(`UPDATE items SET new_id = ? WHERE plan = ? AND n = ?`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, o := range outcomes {
		if o.NewID == "" {
			continue
		}
		if _, err := stmt.Exec(o.NewID, plan, o.N); err != nil {
			return err
		}
	}
	return nil
}

// AuditedPlan notes that the recorded outcomes of a plan are in the audit log
// too.
func (l *Ledger) AuditedPlan(ctx context.Context, plan string) error {
	return wrap("noting that outcomes are audited", l.timed(ctx, func(t *txn) error {
		_, err := t.Exec(`UPDATE batches SET recorded = 2 WHERE recorded = 1 AND plan = ?`, plan)
		return err
	}))
}
