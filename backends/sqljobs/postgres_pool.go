package sqljobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// maxConns bounds what one role takes of a server.
const maxConns = 8

// pool keeps the connections of one role.
type pool struct {
	*puddle.Pool[*pgconn.PgConn]
	cfg *pgconn.Config
}

// pooled is a connection on loan from its pool.
type pooled = puddle.Resource[*pgconn.PgConn]

func newPool(cfg *pgconn.Config) (*pool, error) {
	p, err := puddle.NewPool(&puddle.Config[*pgconn.PgConn]{
		Constructor: func(ctx context.Context) (*pgconn.PgConn, error) { return pgconn.ConnectConfig(ctx, cfg) },
		Destructor:  discard,
		MaxSize:     maxConns,
	})
	return &pool{p, cfg}, err
}

// begin runs the statement that opens a transaction on an idle connection, or
// on a new one when the idle ones have been cut off since.
func (p *pool) begin(ctx context.Context, statement string) (conn *pooled, err error) {
	for range maxConns + 1 {
		if conn, err = p.Acquire(ctx); err != nil {
			return nil, err
		}
		if _, err = conn.Value().Exec(ctx, statement).ReadAll(); err == nil {
			return conn, nil
		}
		conn.Destroy()
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// give returns a connection. One that is not between transactions is closed.
func give(conn *pooled) {
	if c := conn.Value(); c.IsClosed() || c.TxStatus() != 'I' {
		conn.Destroy()
		return
	}
	conn.Release()
}

// discard closes a connection, which rolls back what is open on it.
func discard(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}
