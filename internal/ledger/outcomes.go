package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// kind is what outcomes of one batch have in common, so that one statement
// stores all of them.
type kind struct {
	state backends.State
	code  backends.Code
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
	rows, err := t.Query(`SELECT i.n FROM items i JOIN batches b ON b.id = i.batch
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
	spans := spansOf(ns)
	intended, err := t.allowed(plan, k.state, spans, len(ns))
	if err != nil {
		return err
	}
	unsent := k.state == backends.Claimed || k.state == backends.Skipped || k.state == backends.Failed
	for batch, n := range intended {
		if !unsent || n == 0 {
			continue
		}
		// What was intended and not sent gives its place in the hour's limit back.
		if _, err := t.Exec(`UPDATE batches SET n = n - ? WHERE id = ?`, n, batch); err != nil {
			return err
		}
	}
	_, err = t.spread(spans, `UPDATE items SET state = ?4, code = ?5, open = ?6, at = ?7, owed = 1, intended = iif(?8, 0, intended)
		WHERE plan = ?3 AND n BETWEEN ?1 AND ?2`,
		plan, string(k.state), string(k.code), holdsClaim(k.state), t.now, unsent)
	return err
}

// holdsClaim reports whether an item in this state keeps its letter claimed.
func holdsClaim(s backends.State) bool {
	return s == backends.Claimed || s == backends.Intended || s == backends.Sent || s == backends.Doubtful
}

// allowed checks every move of a batch against the table, and tells for each
// batch how many of its items were intended.
func (t *txn) allowed(plan string, to backends.State, spans []span, want int) (intended map[int64]int, err error) {
	intended = map[int64]int{}
	seen := 0
	for _, s := range spans {
		n, err := t.allowedSpan(plan, to, s, intended)
		if err != nil {
			return nil, err
		}
		seen += n
	}
	if seen != want {
		return nil, fmt.Errorf("%d of %d outcomes name no item of %s, or one twice", want-seen, want, plan)
	}
	return intended, nil
}

func (t *txn) allowedSpan(plan string, to backends.State, s span, intended map[int64]int) (seen int, err error) {
	rows, err := t.Query(`SELECT batch, state, count(*), sum(intended > 0) FROM items
		WHERE plan = ? AND n BETWEEN ? AND ? GROUP BY batch, state`, plan, s.from, s.to)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var batch int64
		var from backends.State
		var n, sent int
		if err := rows.Scan(&batch, &from, &n, &sent); err != nil {
			return 0, err
		}
		if to == backends.Intended || !CanMoveItem(from, to) {
			return 0, &MoveError{What: fmt.Sprintf("%d items of %s", n, plan), From: string(from), To: string(to)}
		}
		seen += n
		intended[batch] += sent
	}
	return seen, rows.Err()
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
