package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const planColumns = `id, digest, (SELECT bytes FROM frozen WHERE plan = plans.id), queue, letters, physical, mode, state, why, kind, principal, session, same, idem,
	created, expires, not_after, decided, ended, run, fence, lease, logged`

// Get finds a plan by its id or by a prefix of at least four characters that
// names one plan only.
func (l *Ledger) Get(ctx context.Context, id string) (Plan, error) {
	plans, err := l.query(ctx, `id = ?`, id)
	if err == nil && len(plans) == 0 && len(id) >= 4 {
		plans, err = l.query(ctx, withPrefix, id) // no id holds a tilde, which sorts behind all that they hold
	}
	if err != nil {
		return Plan{}, wrap("reading request", err)
	}
	if len(plans) != 1 {
		return Plan{}, ErrNoPlan
	}
	return plans[0], nil
}

// State is how far a plan has come, and why, without the rest of it.
func (l *Ledger) State(ctx context.Context, id string) (s State, why string, err error) {
	err = noPlan(l.read.QueryRowContext(ctx, `SELECT state, why FROM plans WHERE id = ?`, id).Scan(&s, &why))
	return s, why, wrap("reading request "+id, err)
}

const (
	withPrefix = `id >= ?1 AND id < ?1 || '~'`
	inStates   = isOpen + ` AND state IN (SELECT value FROM json_each(?))`
	lastEnded  = `id = (SELECT id FROM plans WHERE queue = ? AND ended > 0 ORDER BY ended DESC LIMIT 1)`
)

// Find lists plans in these states, each open or unknown, oldest first.
func (l *Ledger) Find(ctx context.Context, states ...State) ([]Plan, error) {
	arg, err := json.Marshal(states)
	if err != nil {
		return nil, err
	}
	plans, err := l.query(ctx, inStates, string(arg))
	return plans, wrap("listing requests", err)
}

func (l *Ledger) query(ctx context.Context, where string, args ...any) ([]Plan, error) {
	rows, err := l.read.QueryContext(ctx, planQuery(where), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Plan
	for rows.Next() {
		p, err := scanPlan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

func planQuery(where string) string {
	return `SELECT ` + planColumns + ` FROM plans WHERE ` + where + ` ORDER BY created, id`
}

func scanPlan(rows *sql.Rows) (p Plan, err error) {
	var created, expires, notAfter, decided, ended, lease int64
	err = rows.Scan(&p.ID, &p.Digest, &p.Bytes, &p.Queue, &p.Letters, &p.Physical, &p.Mode, &p.State, &p.Why, &p.Kind,
		&p.Principal, &p.Session, &p.Same, &p.Idem, &created, &expires, &notAfter, &decided, &ended, &p.Run, &p.Fence, &lease, &p.Logged)
	p.Created, p.Expires, p.NotAfter = fromMicros(created), fromMicros(expires), fromMicros(notAfter)
	p.Decided, p.Ended, p.Lease = fromMicros(decided), fromMicros(ended), fromMicros(lease)
	return p, err
}

// Items yields the items of a plan in these states, by number; no state means
// all. Bodies are filled.
func (l *Ledger) Items(ctx context.Context, plan string, states ...backends.State) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		among, err := json.Marshal(append([]backends.State{}, states...))
		if err != nil {
			yield(Item{}, err)
			return
		}
		rows, err := l.read.QueryContext(ctx, `SELECT p.queue, i.n, i.id, i.mark, i.digest, i.salt, i.body, i.body IS NULL, i.state, iif(i.batch = 0, '', (SELECT ticket FROM batches b WHERE b.id = i.batch)), i.code, i.new_id, i.at
			FROM items i JOIN plans p ON p.id = i.plan WHERE i.plan = ?1 AND (?2 = '[]' OR i.state IN (SELECT value FROM json_each(?2))) ORDER BY i.n`, plan, string(among))
		if err != nil {
			yield(Item{}, wrap("reading the items of "+plan, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			it, err := scanItem(rows)
			if !yield(it, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Item{}, wrap("reading the items of "+plan, err))
		}
	}
}

func scanItem(rows *sql.Rows) (it Item, err error) {
	var digest, salt, body []byte
	var at int64
	var null bool
	err = rows.Scan(&it.Ref.Queue, &it.N, &it.Ref.ID, &it.Ref.Mark, &digest, &salt, &body, &null, &it.State, &it.Ticket, &it.Code, &it.NewID, &at)
	copy(it.Ref.Digest[:], digest)
	copy(it.Salt[:], salt)
	it.At, it.Body = fromMicros(at), blob(body, null)
	return it, err
}

// blob tells an empty body from none: the driver gives nil for both.
func blob(b []byte, null bool) []byte {
	if !null && b == nil {
		return []byte{}
	}
	return b
}

// Counts are how many items of a plan are in which state.
type Counts struct {
	Waiting, InDoubt, Sent, Skipped, Failed, Unknown int
}

// All is the number of items.
func (c Counts) All() int {
	return c.Waiting + c.InDoubt + c.Sent + c.Skipped + c.Failed + c.Unknown
}

// state is where a run ends with these counts.
func (c Counts) state(halted bool) State {
	switch {
	case c.Unknown > 0:
		return Unknown
	case halted || c.Waiting > 0:
		return Halted
	case c.Skipped+c.Failed > 0:
		return Partial
	}
	return Done
}

const countQuery = `SELECT state, count(*) FROM items WHERE plan = ? GROUP BY state`

// Count counts the items of a plan.
func (l *Ledger) Count(ctx context.Context, plan string) (Counts, error) {
	rows, err := l.read.QueryContext(ctx, countQuery, plan)
	if err != nil {
		return Counts{}, wrap("counting", err)
	}
	return scanCounts(rows)
}

func (t *txn) counts(plan string) (Counts, error) {
	rows, err := t.Query(countQuery, plan)
	if err != nil {
		return Counts{}, err
	}
	return scanCounts(rows)
}

func scanCounts(rows *sql.Rows) (c Counts, err error) {
	defer rows.Close()
	for rows.Next() {
		var s backends.State
		var n int
		if err := rows.Scan(&s, &n); err != nil {
			return c, err
		}
		switch s {
		case backends.Claimed:
			c.Waiting += n
		case backends.Intended:
			c.InDoubt += n
		case backends.Sent, backends.Done:
			c.Sent += n
		case backends.Skipped:
			c.Skipped += n
		case backends.Failed:
			c.Failed += n
		case backends.Doubtful:
			c.Unknown += n
		}
	}
	return c, rows.Err()
}

const claimsQuery = `SELECT id, plan FROM items WHERE place = ` + placeOf + ` AND open = 1 AND id IN (SELECT value FROM json_each(?2))`

// Claims tells which plan has each of these letters, if any.
func (l *Ledger) Claims(ctx context.Context, letters string, ids []string) (map[string]string, error) {
	return claims(ctx, l.read, letters, ids)
}

func claims(ctx context.Context, q queryer, letters string, ids []string) (map[string]string, error) {
	arg, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, claimsQuery, letters, string(arg))
	if err != nil {
		return nil, wrap("looking for claims", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var id, plan string
		if err := rows.Scan(&id, &plan); err != nil {
			return nil, err
		}
		out[id] = plan
	}
	return out, rows.Err()
}

// Denial is a person's no to a letter, with the body that was to be sent.
type Denial struct {
	Plan  string
	Mark  string // which death of the letter
	Body  []byte // nil: as stored
	Until time.Time
	Why   string // the person's words
}

const denialQuery = `SELECT i.id, i.mark, i.body, i.body IS NULL, p.id, p.why, p.deny_until FROM items i CROSS JOIN plans p ON p.id = i.plan
	WHERE i.open = 0 AND i.intended = 0 AND i.place = ` + placeOf + ` AND i.id IN (SELECT value FROM json_each(?2)) AND p.deny_until > ?3 ORDER BY p.deny_until DESC, p.id`

// Denials are the denials that still hold, by letter, first the one that holds
// longest.
func (l *Ledger) Denials(ctx context.Context, letters string, ids []string) (map[string][]Denial, error) {
	arg, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	now, _ := l.Now()
	rows, err := l.read.QueryContext(ctx, denialQuery, letters, string(arg), micros(now))
	if err != nil {
		return nil, wrap("looking for denials", err)
	}
	defer rows.Close()
	out := map[string][]Denial{}
	for rows.Next() {
		var id string
		var d Denial
		var body []byte
		var null bool
		var until int64
		if err := rows.Scan(&id, &d.Mark, &body, &null, &d.Plan, &d.Why, &until); err != nil {
			return nil, err
		}
		d.Body, d.Until = blob(body, null), fromMicros(until)
		out[id] = append(out[id], d)
	}
	return out, rows.Err()
}

func scanStrings(rows *sql.Rows) ([]string, error) { return scanAll[string](rows) }

// scanAll reads rows of one column.
func scanAll[T any](rows *sql.Rows) (out []T, err error) {
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// ByKey finds a plan by its requester's idempotency key.
func (l *Ledger) ByKey(ctx context.Context, kind, principal, key string) (Plan, error) {
	plans, err := l.query(ctx, `kind = ? AND principal = ? AND idem = ?`, kind, principal, key)
	if err != nil {
		return Plan{}, wrap("looking for an idempotency key", err)
	}
	if len(plans) == 0 {
		return Plan{}, ErrNoPlan
	}
	return plans[0], nil
}

// LastEnded is the plan of a queue that ended last, zero if none has.
func (l *Ledger) LastEnded(ctx context.Context, queue string) (Plan, error) {
	plans, err := l.query(ctx, lastEnded, queue)
	if err != nil || len(plans) == 0 {
		return Plan{}, wrap("looking for the last outcome", err)
	}
	return plans[0], nil
}
