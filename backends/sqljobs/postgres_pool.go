package sqljobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// maxConns bounds what one role takes of a server.
const maxConns = 8

// pool keeps the idle connections of one role.
type pool struct {
	cfg   *pgconn.Config
	slots chan struct{}

	mu     sync.Mutex
	idle   []*pgconn.PgConn
	closed bool
}

func newPool(cfg *pgconn.Config) *pool {
	return &pool{cfg: cfg, slots: make(chan struct{}, maxConns)}
}

var errClosed = errors.New("the store is closed")

// begin runs the statement that opens a transaction on an idle connection, or
// on a new one when the idle ones have been cut off since.
func (p *pool) begin(ctx context.Context, statement string) (*pgconn.PgConn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		conn, fresh, err := p.take(ctx)
		if err == nil {
			_, err = conn.Exec(ctx, statement).ReadAll()
		}
		if err == nil {
			return conn, nil
		}
		if conn != nil {
			discard(conn)
		}
		if fresh || ctx.Err() != nil {
			<-p.slots
			return nil, err
		}
	}
}

func (p *pool) take(ctx context.Context) (conn *pgconn.PgConn, fresh bool, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, true, errClosed
	}
	if n := len(p.idle); n > 0 {
		conn = p.idle[n-1]
		p.idle = p.idle[:n-1]
	}
	p.mu.Unlock()
	if conn != nil {
		return conn, false, nil
	}
	conn, err = pgconn.ConnectConfig(ctx, p.cfg)
	return conn, true, err
}

// give takes a connection back. One that is not between transactions is closed.
func (p *pool) give(conn *pgconn.PgConn) {
	defer func() { <-p.slots }()
	p.mu.Lock()
	keep := !p.closed && !conn.IsClosed() && conn.TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, conn)
	}
	p.mu.Unlock()
	if !keep {
		discard(conn)
	}
}

// discard closes a connection, which rolls back what is open on it.
func discard(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}

func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, conn := range idle {
		discard(conn)
	}
}
