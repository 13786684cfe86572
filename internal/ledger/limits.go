package ledger

import (
	"context"
	"fmt"
	"time"
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

// MaxAdmitted is how long what was reserved may wait for its intent. An executor
// that stood still for longer asks again whether it may go on: meanwhile the hour
// may have been used up, and everything may have been stopped.
const MaxAdmitted = time.Minute

// StaleError means that an intent is not covered by what was reserved: it came
// too late, or it is for more.
type StaleError struct{ Plan string }

func (e *StaleError) Error() string {
	return fmt.Sprintf("more than %s went by after %s was admitted, or it was admitted for less", MaxAdmitted, e.Plan)
}

// spend takes n from what is reserved.
func (t *txn) spend(plan string, n int) error {
	res, err := t.Exec(`UPDATE reserved SET n = n - ?2 WHERE plan = ?1 AND n >= ?2 AND at > ?3`, plan, n, t.now-MaxAdmitted.Microseconds())
	if err != nil {
		return err
	}
	if hit, _ := res.RowsAffected(); hit == 0 {
		return &StaleError{Plan: plan}
	}
	return nil
}
