package sqljobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// maxConns bounds what one role takes of a server.
const maxConns = 8

// pool keeps the connections of one role.
type pool struct {
	*puddle.Pool[*session]
	cfg *pgconn.Config
}

// session is one connection.
type session struct {
	*pgconn.PgConn
	used bool // it has been idle in the pool, where it may have been cut off
}

// pooled is a connection on loan from its pool.
type pooled = puddle.Resource[*session]

func newPool(cfg *pgconn.Config) (*pool, error) {
	p, err := puddle.NewPool(&puddle.Config[*session]{
		Constructor: func(ctx context.Context) (*session, error) {
			conn, err := pgconn.ConnectConfig(ctx, cfg)
			return &session{PgConn: conn}, err
		},
		Destructor: discard,
		MaxSize:    maxConns,
	})
	return &pool{p, cfg}, err
}

// begin runs the statements that open a transaction on an idle connection, or on
// a new one when the idle ones have been cut off since. A pooler in front of the
// server keeps them waiting until it has a session free. It answers the value that
// the last of them gives.
func (p *pool) begin(ctx context.Context, statements string, limit time.Duration) (*pooled, string, error) {
	for {
		conn, err := p.Acquire(ctx)
		if err != nil {
			return nil, "", err
		}
		waits, cancel := context.WithTimeout(ctx, limit)
		results, err := conn.Value().Exec(waits, statements).ReadAll()
		late := waits.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil {
			return conn, string(results[len(results)-1].Rows[0][0]), nil
		}
		idle := conn.Value().used
		conn.Destroy()
		switch {
		case late:
			return nil, "", backends.Errorf(backends.Busy, err, "the database gave no session within %s", limit).
				WithHint("try again in a minute; a pooler in front of the database may have too few sessions for its clients")
		case !idle || ctx.Err() != nil:
			return nil, "", err
		}
	}
}

// give returns a connection. One that is not between transactions is closed.
func give(conn *pooled) {
	c := conn.Value()
	if c.IsClosed() || c.TxStatus() != 'I' {
		conn.Destroy()
		return
	}
	c.used = true
	conn.Release()
}

// discard closes a connection, which rolls back what is open on it.
func discard(conn *session) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}
