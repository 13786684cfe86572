package ledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// What the ledger has goes to the log next, and a process may die between the
// two. So plans and items note what the log was told, and whoever comes later
// tells it the rest.

// Told notes the log's record of a plan in a state: open for the request itself,
// else for its end.
func (l *Ledger) Told(ctx context.Context, plan string, s State, h Head) error {
	return wrap("noting that the log knows of "+plan, l.timed(ctx, func(t *txn) error {
		if _, err := t.Exec(`UPDATE plans SET logged = ?2 WHERE id = ?1 AND (?3 OR logged = '')`, plan, string(s), !s.Open()); err != nil {
			return err
		}
		return t.setHead(h)
	}))
}

// Audited notes that these outcomes of a plan are in the log. Items that have
// another state by now owe that one.
func (l *Ledger) Audited(ctx context.Context, plan string, outcomes []backends.Outcome, h Head) error {
	return wrap("noting that outcomes are in the log", l.timed(ctx, func(t *txn) error { return t.audited(plan, outcomes, h) }))
}

func (t *txn) audited(plan string, outcomes []backends.Outcome, h Head) error {
	by := map[backends.State][]int{}
	for _, o := range outcomes {
		by[o.State] = append(by[o.State], o.N)
	}
	for s, ns := range by {
		if _, err := t.spread(spansOf(ns), `UPDATE items SET owed = 0 WHERE plan = ?3 AND n BETWEEN ?1 AND ?2 AND state = ?4`, plan, string(s)); err != nil {
			return err
		}
	}
	// A batch owes nothing when the log has all that was sent of it.
	told, err := json.Marshal(append([]int{}, by[backends.Done]...))
	if err != nil {
		return err
	}
	if _, err := t.Exec(`UPDATE batches SET owed = 0 WHERE owed = 1 AND plan = ?1 AND NOT EXISTS (SELECT 1 FROM items i
		WHERE i.plan = ?1 AND i.batch = batches.id AND i.state = 'done' AND i.n NOT IN (SELECT value FROM json_each(?2)))`, plan, string(told)); err != nil {
		return err
	}
	return t.setHead(h)
}

// unaudited looks at the items of a plan only if one of its batches owes.
const unaudited = `SELECT n, state, code, new_id FROM items WHERE plan = ?1 AND owed = 1
	UNION SELECT i.n, i.state, i.code, i.new_id FROM batches b CROSS JOIN items i ON i.plan = b.plan AND i.batch = b.id
		WHERE b.owed = 1 AND b.plan = ?1 AND i.state = 'done'
	ORDER BY n`

// Unaudited lists the outcomes of a plan that the log lacks.
func (l *Ledger) Unaudited(ctx context.Context, plan string) (out []backends.Outcome, err error) {
	rows, err := l.read.QueryContext(ctx, unaudited, plan)
	if err != nil {
		return nil, wrap("looking for outcomes to audit", err)
	}
	defer rows.Close()
	for rows.Next() {
		var o backends.Outcome
		if err := rows.Scan(&o.N, &o.State, &o.Code, &o.NewID); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

const untold = `id IN (
		SELECT id FROM plans WHERE logged = '' OR ended > 0 AND logged <> state
		UNION SELECT plan FROM items WHERE owed = 1 UNION SELECT plan FROM batches WHERE owed = 1)
	AND state NOT IN ('running','stopping') AND max(created, ended) <= ?`

// Untold lists plans that nobody runs and of which the log lacks something since
// before a time: the request itself, its end, or outcomes.
func (l *Ledger) Untold(ctx context.Context, before time.Time) ([]Plan, error) {
	plans, err := l.query(ctx, untold, micros(before))
	return plans, wrap("looking for what the log lacks", err)
}

// ByDigest finds a plan by the digest that the log names it by.
func (l *Ledger) ByDigest(ctx context.Context, digest string) (Plan, error) {
	plans, err := l.query(ctx, `digest = ?`, digest)
	if err == nil && len(plans) == 0 {
		err = ErrNoPlan
	}
	if err != nil {
		return Plan{}, wrap("looking for a plan of the log", err)
	}
	return plans[0], nil
}

// HasTicket reports whether a batch was intended under a ticket.
func (l *Ledger) HasTicket(ctx context.Context, ticket string) (has bool, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM batches WHERE ticket = ?)`, ticket).Scan(&has)
	return has, wrap("looking for a ticket", err)
}

// States are those of some items of a plan, by number.
func (l *Ledger) States(ctx context.Context, plan string, ns []int) (map[int]backends.State, error) {
	arg, err := json.Marshal(ns)
	if err != nil {
		return nil, err
	}
	rows, err := l.read.QueryContext(ctx, `SELECT n, state FROM items WHERE plan = ? AND n IN (SELECT value FROM json_each(?))`, plan, string(arg))
	if err != nil {
		return nil, wrap("reading items of "+plan, err)
	}
	defer rows.Close()
	out := map[int]backends.State{}
	for rows.Next() {
		var n int
		var s backends.State
		if err := rows.Scan(&n, &s); err != nil {
			return nil, err
		}
		out[n] = s
	}
	return out, rows.Err()
}
