package snapshot

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// beginWait outlasts the moment in which Look asks for the lock.
const beginWait = 100 * time.Millisecond

// lockName is the file whose lock a look at the place holds.
func lockName(place string) string {
	sum := sha256.Sum256([]byte(place))
	return "look-" + hex.EncodeToString(sum[:16]) + ".lock"
}

// pass is a look of this process.
type pass struct {
	d     *DB
	place int64
	n     int64

	mu   sync.Mutex
	lock *durable.Lock // nil after Close
	over bool          // End was called
}

// Begin takes the lock of the place, which the kernel frees when this process
// ends, and notes the pass.
func (d *DB) Begin(ctx context.Context, place string) (backends.Pass, error) {
	lock, err := d.state.Lock(ctx, lockName(place), beginWait)
	if errors.Is(err, durable.ErrLocked) {
		return nil, backends.ErrLooking
	}
	if err != nil {
		return nil, d.trouble("beginning a look", err)
	}
	p := &pass{d: d, lock: lock}
	err = d.tx(ctx, func(t *sql.Tx) error {
		if p.place, err = placeKey(t, place); err != nil {
			return err
		}
		return t.QueryRow(`UPDATE places SET pass = pass + 1, began = ?2, ended = 0, seen = 0, total = -1, notes = '[]'
			WHERE key = ?1 RETURNING pass`, p.place, nanos(d.clock())).Scan(&p.n)
	})
	if err != nil {
		return nil, errors.Join(d.trouble("beginning a look", err), lock.Unlock())
	}
	return p, nil
}

// placeKey finds the row of a place or makes it.
func placeKey(t *sql.Tx, place string) (key int64, err error) {
	err = t.QueryRow(`SELECT key FROM places WHERE place = ?`, []byte(place)).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.QueryRow(`INSERT INTO places(place, pass, began, ended, seen, total, notes, as_of, whole)
			VALUES (?, 0, 0, 1, 0, -1, '[]', 0, 0) RETURNING key`, []byte(place)).Scan(&key)
	}
	return key, err
}

// Progress says how many letters there are.
func (p *pass) Progress(ctx context.Context, total int) error {
	return p.step(ctx, "noting how far a look is", func(t *sql.Tx) error {
		return p.note(t, `total = ?3`, total)
	})
}

// End ends the look. From its first transaction on, the look has ended; what is
// wrong with removing what is over then is an error too, and the next End goes on
// with it.
func (p *pass) End(ctx context.Context, whole bool, notes ...string) error {
	text, err := json.Marshal(append([]string{}, notes...))
	if err != nil {
		return fmt.Errorf("ending a look: %w", err)
	}
	err = p.step(ctx, "ending a look", func(t *sql.Tx) error {
		return p.note(t, `ended = 1, notes = ?3, as_of = began, whole = CASE WHEN ?4 THEN pass ELSE whole END`, string(text), whole)
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	return p.d.trouble("removing letters whose time is over", p.d.sweep(ctx, p.place))
}

// Close frees the lock. A look that was not ended stays one that did not come to
// its end.
func (p *pass) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lock == nil {
		return nil
	}
	lock := p.lock
	p.lock = nil
	return lock.Unlock()
}

// step is one transaction of a look that is under way. Close waits for it.
func (p *pass) step(ctx context.Context, doing string, f func(*sql.Tx) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lock == nil || p.over {
		return fmt.Errorf("%s: it is over", doing)
	}
	return p.d.trouble(doing, p.d.tx(ctx, f))
}

// note changes the row of the place. set counts its arguments from ?3.
func (p *pass) note(t *sql.Tx, set string, args ...any) error {
	res, err := t.Exec(`UPDATE places SET `+set+` WHERE key = ?1 AND pass = ?2`, append([]any{p.place, p.n}, args...)...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(damaged("the look is not in the file any more"), err)
	}
	return nil
}
