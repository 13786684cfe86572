package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Decision is what a person said about a plan.
type Decision struct {
	Plan, Person, Digest, Proof, Reason string
	Yes                                 bool
	At                                  time.Time
	Seq                                 uint64 // the log's record of it; before there is one, the newest at that time
	Hash                                string // "" before the log has it
}

// ErrDecided means that the person has decided about this plan before.
var ErrDecided = errors.New("this person has already decided about it")

// Decide keeps what a person says about a plan, before the log is told. It
// counts for nothing until Confirm; until then the same person may decide anew.
func (l *Ledger) Decide(ctx context.Context, d Decision) error {
	return wrap("storing the decision about "+d.Plan, l.timed(ctx, func(t *txn) error {
		if err := t.decidable(d); err != nil {
			return err
		}
		res, err := t.Exec(`INSERT INTO decisions(plan, person, yes, digest, proof, reason, at, seq, hash) VALUES (?,?,?,?,?,?,?,?,'')
			ON CONFLICT(plan, person) DO UPDATE SET yes = excluded.yes, proof = excluded.proof, reason = excluded.reason, at = excluded.at, seq = excluded.seq
			WHERE hash = ''`, d.Plan, d.Person, d.Yes, d.Digest, d.Proof, d.Reason, micros(d.At), d.Seq)
		if err != nil {
			return err
		}
		if hit, _ := res.RowsAffected(); hit == 0 {
			return ErrDecided
		}
		return nil
	}))
}

// decidable refuses a decision about a plan that is not open to one, or that has
// another digest.
func (t *txn) decidable(d Decision) error {
	if _, err := t.expire(); err != nil {
		return err
	}
	var state State
	var digest string
	if err := t.QueryRow(`SELECT state, digest FROM plans WHERE id = ?`, d.Plan).Scan(&state, &digest); err != nil {
		return noPlan(err)
	}
	if state != Pending && state != Approved || digest != d.Digest {
		return &MoveError{What: "request " + d.Plan, From: string(state), To: "decided"}
	}
	return nil
}

// Judge says which state the decisions about a plan amount to, "" for none other
// than it has, and until when a denial holds.
type Judge func([]Decision) (to State, denyUntil time.Time, err error)

// Confirm notes the log's record of a decision, and moves the plan to where its
// decisions lead. Judge is asked within the transaction, so that of two people
// who decide at once the second one's yes meets the first one's; it must not
// write here. Confirming once more by the same record does nothing: whoever finds
// in the log a decision that nobody confirms may do it. counts is false if the
// plan has moved on meanwhile: the decision stays noted and moves nothing.
func (l *Ledger) Confirm(ctx context.Context, d Decision, h Head, judge Judge) (counts bool, err error) {
	err = l.timed(ctx, func(t *txn) error {
		counts = true
		fresh, err := t.confirm(d, h)
		if err != nil || !fresh {
			return err
		}
		err = t.decidable(d)
		if _, moved := errors.AsType[*MoveError](err); moved {
			counts = false
			return nil
		}
		if err != nil {
			return err
		}
		return t.decided(d, judge)
	})
	return counts && err == nil, wrap("confirming the decision about "+d.Plan, err)
}

// confirm gives a decision its record. fresh is false if it has it already.
func (t *txn) confirm(d Decision, h Head) (fresh bool, err error) {
	res, err := t.Exec(`UPDATE decisions SET seq = ?4, hash = ?5 WHERE plan = ?1 AND person = ?2 AND yes = ?3 AND hash = ''`, d.Plan, d.Person, d.Yes, h.Seq, h.Hash)
	if err != nil {
		return false, err
	}
	if hit, _ := res.RowsAffected(); hit == 1 {
		return true, t.setHead(h)
	}
	var hash string
	err = t.QueryRow(`SELECT hash FROM decisions WHERE plan = ? AND person = ?`, d.Plan, d.Person).Scan(&hash)
	if err == nil && hash != h.Hash {
		err = ErrDecided
	}
	return false, err
}

// decided moves a plan to where its decisions lead.
func (t *txn) decided(d Decision, judge Judge) error {
	ds, err := scanDecisions(t.Query(decisionQuery, d.Plan))
	if err != nil {
		return err
	}
	to, until, err := judge(ds)
	if err != nil || to == "" {
		return err
	}
	var state State
	if err := t.QueryRow(`SELECT state FROM plans WHERE id = ?`, d.Plan).Scan(&state); err != nil || state == to {
		return err
	}
	if err := t.move(d.Plan, to, d.Reason); err != nil {
		return err
	}
	// A denial is the plan's end, and the log has it.
	_, err = t.Exec(`UPDATE plans SET decided = ?2, deny_until = ?3, logged = iif(?4, logged, state) WHERE id = ?1`, d.Plan, micros(d.At), micros(until), to.Open())
	return err
}

const (
	decisionColumns = `SELECT plan, person, yes, digest, proof, reason, at, seq, hash FROM decisions`
	decisionQuery   = decisionColumns + ` WHERE plan = ? AND hash <> '' ORDER BY at, person`

	unconfirmedQuery = decisionColumns + ` WHERE hash = '' AND plan IN
		(SELECT id FROM plans WHERE ` + isOpen + ` AND state IN ('pending','approved')) ORDER BY seq`
)

// Decisions lists what was said about a plan and is in the log, in order.
func (l *Ledger) Decisions(ctx context.Context, plan string) ([]Decision, error) {
	ds, err := scanDecisions(l.read.QueryContext(ctx, decisionQuery, plan))
	return ds, wrap("reading decisions", err)
}

// Unconfirmed lists decisions about open plans that Decide has kept and nobody
// has confirmed: whoever decided is about to, or has died.
func (l *Ledger) Unconfirmed(ctx context.Context) ([]Decision, error) {
	ds, err := scanDecisions(l.read.QueryContext(ctx, unconfirmedQuery))
	return ds, wrap("reading decisions", err)
}

// HasDecision reports whether a decision of this person is kept, confirmed or
// not.
func (l *Ledger) HasDecision(ctx context.Context, plan, person string) (has bool, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM decisions WHERE plan = ? AND person = ?)`, plan, person).Scan(&has)
	return has, wrap("looking for a decision", err)
}

func scanDecisions(rows *sql.Rows, err error) (out []Decision, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d Decision
		var at int64
		if err := rows.Scan(&d.Plan, &d.Person, &d.Yes, &d.Digest, &d.Proof, &d.Reason, &at, &d.Seq, &d.Hash); err != nil {
			return nil, err
		}
		d.At = fromMicros(at)
		out = append(out, d)
	}
	return out, rows.Err()
}
