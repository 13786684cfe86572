package snapshot

import (
	"context"
	"database/sql"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// tx runs f in one immediate transaction. Once begun it is finished even when the
// caller's context ends meanwhile: each is short.
func (d *DB) tx(ctx context.Context, f func(*sql.Tx) error) error {
	conn, err := d.turn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after Commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// turn waits until no other caller of this process writes. SQLite bounds how long
// the one before waits for other processes; a queue of such waits is bounded here.
func (d *DB) turn(ctx context.Context) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*lockWait, durable.ErrLocked)
	defer cancel()
	conn, err := d.write.Conn(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return conn, err
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// oldest is when a letter must have been seen to be shown still.
func (d *DB) oldest() int64 { return d.clock().UnixNano() - d.keep.Load() }
