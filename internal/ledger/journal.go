package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Reserve counts n items against the hour's limit before they are intended and
// grants how many of them may go, 0 if the hour is used up. perHour 0 means no
// limit.
func (l *Ledger) Reserve(ctx context.Context, plan string, fence int64, physical string, perHour, n int) (granted int, err error) {
	err = l.timed(ctx, func(t *txn) error {
		if t.lag != nil {
			return t.lag
		}
		if err := t.fence(plan, fence); err != nil {
			return err
		}
		granted = n
		if perHour > 0 {
			used, err := t.used(physical, plan)
			if err != nil {
				return err
			}
			granted = max(0, min(n, perHour-used))
		}
		_, err := t.Exec(`INSERT INTO reserved(plan, physical, n, at) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT(plan) DO UPDATE SET n = ?3, at = ?4`, plan, physical, granted, t.now)
		return err
	})
	return granted, wrap("reserving", err)
}

// used counts what was sent, is unknown or is reserved on a physical queue within
// the last hour. except is a plan whose own reservation does not count.
func (t *txn) used(physical, except string) (n int, err error) {
	err = t.QueryRow(`SELECT
		coalesce((SELECT sum(n) FROM batches WHERE physical = ?1 AND at > ?2), 0) +
		coalesce((SELECT sum(n) FROM reserved WHERE physical = ?1 AND at > ?2 AND plan <> ?3), 0)`,
		physical, t.now-time.Hour.Microseconds(), except).Scan(&n)
	return n, err
}

// Pace is the generic cell rate algorithm with a burst of one second's worth: it
// admits up to n messages at rate a second, at least one, and says how long to
// wait before they go. Every executor of a physical queue shares it.
func (l *Ledger) Pace(ctx context.Context, physical string, rate float64, n int) (admitted int, wait time.Duration, err error) {
	if rate <= 0 {
		return n, 0, nil
	}
	admitted = max(1, min(n, int(rate)))
	err = l.timed(ctx, func(t *txn) error {
		var tat int64
		row := t.QueryRow(`SELECT coalesce((SELECT tat FROM pace WHERE physical = ?), 0)`, physical)
		if err := row.Scan(&tat); err != nil {
			return err
		}
		start := max(tat, t.now)
		next := start + int64(float64(admitted)/rate*1e6)
		wait = time.Duration(start-t.now) * time.Microsecond
		_, err := t.Exec(`INSERT INTO pace(physical, tat) VALUES (?1, ?2) ON CONFLICT(physical) DO UPDATE SET tat = ?2`, physical, next)
		return err
	})
	return admitted, wait, wrap("keeping pace", err)
}

// Intend makes durable that these items are about to be sent under a ticket.
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
		res, err := t.Exec(`UPDATE items SET state = 'intended', ticket = ?2, intended = ?3, at = ?3
			WHERE plan = ?1 AND state = 'claimed' AND open = 1 AND n IN (SELECT value FROM json_each(?4))`, plan, ticket, t.now, string(arg))
		if err != nil {
			return err
		}
		if hit, _ := res.RowsAffected(); hit != int64(len(ns)) {
			return &MoveError{What: fmt.Sprintf("%d of %d items", len(ns)-int(hit), len(ns)), From: "not claimed", To: "intended"}
		}
		if _, err := t.Exec(`INSERT INTO batches(ticket, plan, run, physical, n, at) SELECT ?1, id, ?2, physical, ?3, ?4 FROM plans WHERE id = ?5`,
			ticket, run, len(ns), t.now, plan); err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE reserved SET n = max(0, n - ?2) WHERE plan = ?1`, plan, len(ns))
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

// Record makes outcomes durable. It takes no fence: an executor that lost its
// plan may still say what it did. An outcome that the tables do not allow, such
// as one for an item that another executor already settled, is an error and
// nothing is stored. Intended is no outcome: only Intend, which asks for the
// fence, leads there.
func (l *Ledger) Record(ctx context.Context, plan string, outcomes []backends.Outcome) error {
	return wrap("storing outcomes of "+plan, l.timed(ctx, func(t *txn) error { return t.outcomes(plan, outcomes) }))
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
