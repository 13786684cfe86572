package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// MaxClockLag is how far the wall clock may be behind the ledger's newest
// record. Further back, times of expiry and limits would come to life again.
const MaxClockLag = 2 * time.Minute

// ClockError means that the wall clock went back too far.
type ClockError struct{ Wall, Last time.Time }

func (e *ClockError) Error() string {
	return fmt.Sprintf("the clock says %s, but the ledger already has records of %s",
		e.Wall.UTC().Format(time.RFC3339), e.Last.UTC().Format(time.RFC3339))
}

// txn is one write transaction with the time that it takes place at.
type txn struct {
	*sql.Tx
	now int64 // microseconds: max(wall clock, newest record)
	lag error // *ClockError if the clock is too far behind
}

// tx runs f in one immediate transaction. Once begun it is finished even when the
// caller's context ends meanwhile: a half-known outcome is worse than a late one.
// The error wraps durable.ErrLocked if another process keeps the ledger locked.
func (l *Ledger) tx(ctx context.Context, f func(*txn) error) error {
	conn, err := l.turn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return l.locked(err)
	}
	defer tx.Rollback() // without effect after Commit
	t := &txn{Tx: tx}
	if err := f(t); err != nil {
		return err
	}
	return tx.Commit()
}

// turn waits until no other caller of this process writes. SQLite bounds how long
// the one before waits for other processes; a queue of such waits is bounded
// here.
func (l *Ledger) turn(ctx context.Context) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*l.wait, durable.ErrLocked)
	defer cancel()
	conn, err := l.write.Conn(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return conn, l.locked(err)
}

// locked says what to do about a process that keeps the ledger locked.
func (l *Ledger) locked(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if busy := ok && e.Code()&0xff == lib.SQLITE_BUSY; !busy && !errors.Is(err, durable.ErrLocked) {
		return err
	}
	path := filepath.Join(l.state.Path(), FileName)
	return fmt.Errorf("waited for %s: %w; if that process is stopped or hangs, let it go on or end it (fuser %s names it)", path, durable.ErrLocked, path)
}

// timed is tx with the ledger's time, which never goes back.
func (l *Ledger) timed(ctx context.Context, f func(*txn) error) error {
	return l.tx(ctx, func(t *txn) error {
		if err := l.tick(t); err != nil {
			return err
		}
		return f(t)
	})
}

func (l *Ledger) tick(t *txn) error {
	wall := micros(l.clock())
	last, err := lastTime(t)
	if err != nil {
		return err
	}
	t.now = max(wall, last)
	if last-wall > MaxClockLag.Microseconds() {
		t.lag = &ClockError{Wall: fromMicros(wall), Last: fromMicros(last)}
	}
	_, err = t.Exec(`INSERT INTO meta(key, value) VALUES ('time', ?1) ON CONFLICT(key) DO UPDATE SET value = ?1`,
		strconv.FormatInt(t.now, 10))
	return err
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func lastTime(q queryer) (int64, error) {
	var s string
	err := q.QueryRowContext(context.Background(), `SELECT value FROM meta WHERE key = 'time'`).Scan(&s)
	if err == sql.ErrNoRows {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(s, 10, 64)
}

// Now is max(wall clock, newest record). The error is a *ClockError if the
// clock is too far behind to send anything.
func (l *Ledger) Now() (time.Time, error) {
	wall := l.clock()
	us, err := lastTime(l.read)
	if err != nil {
		return wall, fmt.Errorf("reading the ledger's time: %w", err)
	}
	last := fromMicros(us)
	if last.Sub(wall) > MaxClockLag {
		return last, &ClockError{Wall: wall, Last: last}
	}
	if last.After(wall) {
		return last, nil
	}
	return wall, nil
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
