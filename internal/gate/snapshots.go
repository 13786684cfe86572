package gate

import (
	"context"
	"errors"
	"sync"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/snapshot"
)

// snapshots is the file of the letters that looks saw, opened by the first store
// that asks for it. It has a lock of its own: a look in the background may ask
// while the gate is being closed and waits for the look.
type snapshots struct {
	mu     sync.Mutex
	db     *snapshot.DB
	closed bool
}

// snapshots opens the file, once, and lets it keep letters as long as the policy
// says now.
func (g *Gate) snapshots(ctx context.Context) (backends.Snapshots, error) {
	g.seen.mu.Lock()
	defer g.seen.mu.Unlock()
	if g.seen.closed {
		return nil, errors.New("the gate is closed")
	}
	if _, err := g.logOnly(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	folder, keep := g.book.folder, g.pol.Defaults.Snapshots.Keep
	g.mu.Unlock()
	if g.seen.db == nil {
		db, err := snapshot.Open(ctx, folder, g.o.Clock, keep)
		if err != nil {
			return nil, err
		}
		g.seen.db = db
	}
	g.seen.db.SetKeep(keep)
	return g.seen.db, nil
}

func (s *snapshots) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}
