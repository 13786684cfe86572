package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNoPlan means that no plan has this id.
var ErrNoPlan = errors.New("no such request")

// move takes a plan to another state and, when its claims end, releases what
// was not sent.
func (t *txn) move(id string, to State, why string) error {
	var from State
	err := t.QueryRow(`SELECT state FROM plans WHERE id = ?`, id).Scan(&from)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoPlan
	}
	if err != nil {
		return err
	}
	if !CanMove(from, to) {
		return &MoveError{What: "request " + id, From: string(from), To: string(to)}
	}
	ended := int64(0)
	if !to.Open() {
		ended = t.now
		if err := t.release(id); err != nil {
			return err
		}
	}
	_, err = t.Exec(`UPDATE plans SET state = ?2, why = ?3, ended = ?4 WHERE id = ?1`, id, string(to), why, ended)
	return err
}

// release ends the claims of what was never intended. Items that are intended,
// sent or unknown keep theirs: they may have happened.
func (t *txn) release(id string) error {
	if _, err := t.Exec(`UPDATE items SET open = 0, at = ?2 WHERE plan = ?1 AND state = 'claimed'`, id, t.now); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM reserved WHERE plan = ?`, id)
	return err
}

const dueQuery = `SELECT id FROM plans WHERE ` + isOpen + ` AND (state = 'pending' AND expires <= ?1 OR state IN ('pending','approved') AND not_after <= ?1)`

// expire ends pending plans whose time is up, and approved ones that may no
// longer send. It says which.
func (t *txn) expire() ([]string, error) {
	rows, err := t.Query(dueQuery, t.now)
	if err != nil {
		return nil, err
	}
	due, err := scanStrings(rows)
	if err != nil {
		return nil, err
	}
	for _, id := range due {
		if err := t.move(id, Expired, "its time was up"); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// Expire ends what is due, and says which plans it was that this call ended. It
// writes only where something is due.
func (l *Ledger) Expire(ctx context.Context) (due []string, err error) {
	now, _ := l.Now()
	rows, err := l.read.QueryContext(ctx, dueQuery, micros(now))
	if err == nil {
		due, err = scanStrings(rows)
	}
	if err != nil || len(due) == 0 {
		return nil, wrap("looking for expired requests", err)
	}
	err = l.timed(ctx, func(t *txn) (err error) {
		due, err = t.expire()
		return err
	})
	return due, wrap("expiring requests", err)
}

// Cancel withdraws a plan that nobody runs, and asks the executor of a running
// one to stop. It returns the state that the plan has now.
func (l *Ledger) Cancel(ctx context.Context, id, why string) (State, error) {
	var to State
	err := l.timed(ctx, func(t *txn) error {
		var from State
		if err := t.QueryRow(`SELECT state FROM plans WHERE id = ?`, id).Scan(&from); err != nil {
			return noPlan(err)
		}
		to = Cancelled
		if from == Running || from == Stopping {
			to = Stopping
		}
		return t.move(id, to, why)
	})
	return to, wrap("cancelling "+id, err)
}

// Void ends an approved plan for which the policy now asks more.
func (l *Ledger) Void(ctx context.Context, id, why string) error {
	return wrap("voiding "+id, l.timed(ctx, func(t *txn) error { return t.move(id, Void, why) }))
}

func noPlan(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoPlan
	}
	return err
}

// FenceError means that another executor has taken the plan over.
type FenceError struct{ Plan string }

func (e *FenceError) Error() string {
	return fmt.Sprintf("another executor has taken %s over", e.Plan)
}

// Start takes a plan for one executor: approved plans once, running ones whose
// executor is gone again with a higher fence. The lease says until when others
// must not take it over, unless they know that its holder is dead.
func (l *Ledger) Start(ctx context.Context, id, run string, lease time.Duration, holderDead bool) (fence int64, err error) {
	err = l.timed(ctx, func(t *txn) error {
		if t.lag != nil {
			return t.lag
		}
		if _, err := t.expire(); err != nil {
			return err
		}
		var state State
		var until int64
		if err := t.QueryRow(`SELECT state, fence, lease FROM plans WHERE id = ?`, id).Scan(&state, &fence, &until); err != nil {
			return noPlan(err)
		}
		if (state == Running || state == Stopping) && until > t.now && !holderDead {
			return &FenceError{Plan: id}
		}
		to := Running
		if state == Stopping {
			to = Stopping
		}
		if !CanMove(state, to) {
			return &MoveError{What: "request " + id, From: string(state), To: string(to)}
		}
		fence++
		_, err := t.Exec(`UPDATE plans SET state = ?2, run = ?3, fence = ?4, lease = ?5 WHERE id = ?1`,
			id, string(to), run, fence, t.now+lease.Microseconds())
		if err == nil {
			_, err = t.Exec(`DELETE FROM reserved WHERE plan = ?`, id)
		}
		return err
	})
	return fence, wrap("starting "+id, err)
}

// Renew prolongs a lease.
func (l *Ledger) Renew(ctx context.Context, id string, fence int64, lease time.Duration) error {
	return wrap("renewing the lease of "+id, l.timed(ctx, func(t *txn) error {
		if err := t.fence(id, fence); err != nil {
			return err
		}
		_, err := t.Exec(`UPDATE plans SET lease = ?2 WHERE id = ?1`, id, t.now+lease.Microseconds())
		return err
	}))
}

func (t *txn) fence(id string, fence int64) error {
	var have int64
	var state State
	if err := t.QueryRow(`SELECT fence, state FROM plans WHERE id = ?`, id).Scan(&have, &state); err != nil {
		return noPlan(err)
	}
	if have != fence || state != Running && state != Stopping {
		return &FenceError{Plan: id}
	}
	return nil
}

// Finish ends a run. The state follows from the items; why tells a reader.
func (l *Ledger) Finish(ctx context.Context, id string, fence int64, halted bool, why string) (State, error) {
	var to State
	err := l.timed(ctx, func(t *txn) error {
		if err := t.fence(id, fence); err != nil {
			return err
		}
		c, err := t.counts(id)
		if err != nil {
			return err
		}
		if c.InDoubt > 0 {
			return fmt.Errorf("%d items are still in doubt", c.InDoubt)
		}
		to = c.state(halted)
		return t.move(id, to, why)
	})
	return to, wrap("ending the run of "+id, err)
}
