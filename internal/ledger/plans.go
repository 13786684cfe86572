package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Plan is one request as the ledger keeps it.
type Plan struct {
	ID, Digest     string
	Bytes          []byte
	Queue          string
	Letters        string // the place whose ids are unique
	Physical       string // the physical queue, on which limits are counted
	Mode           string // direct, approval
	State          State
	Why            string
	Kind           string // agent, person
	Principal      string
	Session        string
	Same           string // digest of what was asked
	Idem           string // the requester's own key, "" for none
	Created        time.Time
	Expires        time.Time
	NotAfter       time.Time
	Decided, Ended time.Time
	Run            string
	Fence          int64
	Lease          time.Time
	Logged         State         // what the log was told last, "" for nothing yet
	Keep           time.Duration // for Create: how long originals are kept
}

// Item is one message of a plan. Body is nil where the stored body is sent.
type Item struct {
	N        int
	Ref      backends.Ref
	Salt     [32]byte
	Body     []byte
	Original []byte // for Create: what Body takes the place of
	State    backends.State
	Ticket   string
	Code     backends.Code
	NewID    string
	At       time.Time
}

// Caps bound what may be outstanding.
type Caps struct {
	PlansPerQueue int // pending plans, 0: no bound
	PerHour       int // of a direct plan: sent in an hour, 0: no bound
}

// Errors of Create.
var (
	ErrTooMany = errors.New("too many pending requests for this queue")
	ErrPerHour = errors.New("more than the hour's limit")
)

// ClaimedError names the plan that has each letter.
type ClaimedError struct{ By map[string]string }

func (e *ClaimedError) Error() string { return fmt.Sprintf("%d letters are claimed", len(e.By)) }

// IdemError means that this requester already used the key, for that plan.
type IdemError struct{ Plan string }

func (e *IdemError) Error() string { return "the idempotency key was used for " + e.Plan }

// Create stores a plan with its items and their originals, and claims its
// letters, all or nothing.
// supersede names plans that are cancelled in the same transaction.
func (l *Ledger) Create(ctx context.Context, p Plan, items []Item, caps Caps, supersede ...string) error {
	if err := spelled(items); err != nil {
		return wrap("storing plan "+p.ID, err)
	}
	err := l.timed(ctx, func(t *txn) error {
		if t.lag != nil {
			return t.lag
		}
		if err := t.sameKey(p); err != nil {
			return err
		}
		if _, err := t.expire(); err != nil {
			return err
		}
		for _, id := range supersede {
			if err := t.move(id, Cancelled, "superseded by "+p.ID); err != nil {
				return err
			}
		}
		if err := t.caps(p, len(items), caps); err != nil {
			return err
		}
		if err := t.insertPlan(p); err != nil {
			return err
		}
		err := t.insertItems(p, items)
		if isUnique(err) {
			return t.claimed(p, items, err)
		}
		if err != nil {
			return err
		}
		return t.insertOriginals(p, items)
	})
	if claimed, ok := errors.AsType[*ClaimedError](err); ok {
		return claimed
	}
	return wrap("storing plan "+p.ID, err)
}

// claimed names the plans that have the letters, while they still have them: the
// same transaction that met their claims looks who they are.
func (t *txn) claimed(p Plan, items []Item, err error) error {
	by, e := claims(context.Background(), t, p.Letters, ids(items))
	if e != nil {
		return errors.Join(err, e)
	}
	maps.DeleteFunc(by, func(_, plan string) bool { return plan == p.ID })
	if len(by) == 0 {
		return err // a letter stands twice in the plan
	}
	return &ClaimedError{By: by}
}

func (t *txn) sameKey(p Plan) error {
	if p.Idem == "" {
		return nil
	}
	var id string
	err := t.QueryRow(`SELECT id FROM plans WHERE kind = ? AND principal = ? AND idem = ?`, p.Kind, p.Principal, p.Idem).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &IdemError{Plan: id}
}

func (t *txn) caps(p Plan, n int, caps Caps) error {
	if caps.PlansPerQueue > 0 && p.State == Pending {
		var pending int
		if err := t.QueryRow(pendingQuery, p.Queue).Scan(&pending); err != nil {
			return err
		}
		if pending >= caps.PlansPerQueue {
			return ErrTooMany
		}
	}
	if caps.PerHour > 0 && p.Mode == "direct" {
		used, err := t.spokenFor(p.Physical)
		if err != nil {
			return err
		}
		if used+n > caps.PerHour {
			return ErrPerHour
		}
	}
	return nil
}

// spokenFor counts what was sent within the last hour and what may yet be sent:
// the waiting items of direct plans, and what other plans have reserved. A
// direct plan's own reservation is for items that wait, so it is not counted
// beside them.
func (t *txn) spokenFor(physical string) (n int, err error) {
	err = t.QueryRow(spokenForQuery, physical, t.now-time.Hour.Microseconds()).Scan(&n)
	return n, err
}

// isOpen is the condition of the index plans_open: a query that holds it word for
// word finds the few open plans without reading all that there ever were.
const isOpen = `state IN ('pending','approved','running','stopping','unknown')`

const (
	pendingQuery   = `SELECT count(*) FROM plans WHERE ` + isOpen + ` AND queue = ? AND state = 'pending'`
	spokenForQuery = `WITH direct AS (
			SELECT id FROM plans WHERE ` + isOpen + ` AND physical = ?1 AND mode = 'direct' AND state IN ('approved','running'))
		SELECT
		coalesce((SELECT sum(n) FROM batches WHERE physical = ?1 AND at > ?2), 0) +
		coalesce((SELECT sum(n) FROM reserved WHERE physical = ?1 AND at > ?2 AND plan NOT IN direct), 0) +
		(SELECT count(*) FROM items WHERE plan IN direct AND state = 'claimed')`
)

func (t *txn) insertPlan(p Plan) error {
	if _, err := t.Exec(`INSERT INTO frozen(plan, bytes) VALUES (?,?)`, p.ID, p.Bytes); err != nil {
		return err
	}
	_, err := t.Exec(`INSERT INTO plans(id, digest, queue, letters, physical, mode, state, kind, principal, session, same, idem, created, expires, not_after, decided)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		p.ID, p.Digest, p.Queue, p.Letters, p.Physical, p.Mode, string(p.State), p.Kind, p.Principal, p.Session,
		p.Same, p.Idem, micros(p.Created), micros(p.Expires), micros(p.NotAfter), micros(p.Decided))
	return err
}

func ids(items []Item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.Ref.ID
	}
	return out
}

func isUnique(err error) bool {
	return err != nil && strings.Contains(err.Error(), "UNIQUE constraint failed: items.place")
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
