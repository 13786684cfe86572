package sqljobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// ahead sends batches with the next one always in the making: while ledger and
// log take the intent of one, the database locks, compares and writes another on
// a second connection.
type ahead struct {
	store   *Store
	m       *mapping
	order   backends.Order
	journal backends.Ahead
	rest    []backends.Item
	last    []backends.Outcome // of what was sent, not recorded yet
	wakes   sync.WaitGroup
}

func (s *Store) redriveAhead(ctx context.Context, m *mapping, o backends.Order, j backends.Ahead) error {
	a := &ahead{store: s, m: m, order: o, journal: j, rest: o.Items}
	err := a.run(ctx)
	defer a.wakes.Wait()
	return errors.Join(err, a.record(ctx))
}

// made is a batch up to its intent, or why there is none.
type made struct {
	*batch
	err error
}

func (a *ahead) run(ctx context.Context) error {
	making, stop := context.WithCancel(ctx)
	next := a.make(making)
	defer func() {
		stop()
		if next != nil { // it keeps its rows locked until it is over
			(<-next).rollback()
		}
	}()
	for next != nil {
		b, err := a.take(ctx, next)
		next = nil
		if err != nil {
			return err
		}
		if len(a.rest) > 0 {
			next = a.make(making)
		}
		if err := a.send(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// make begins to prepare the next batch. Until it is taken, rest belongs to it.
func (a *ahead) make(ctx context.Context) <-chan made {
	out := make(chan made, 1)
	go func() {
		n, err := a.journal.AdmitAhead(ctx, min(a.store.batch, len(a.rest)))
		if err != nil {
			out <- made{&batch{}, err}
			return
		}
		b := a.store.newBatch(a.m, a.order, &a.rest, n)
		out <- made{b, b.ready(ctx)}
	}()
	return out
}

// patience is how long what was sent waits to be recorded together with the next
// intent: long enough for a database that is as fast as ledger and log, and no
// longer than a killed executor may make a batch doubtful.
const patience = 20 * time.Millisecond

// take waits for the next batch. Where that takes long, what was sent is recorded
// alone.
func (a *ahead) take(ctx context.Context, next <-chan made) (*batch, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case b := <-next:
		return b.batch, b.err
	case <-late.C:
	}
	recorded := a.record(ctx)
	b := <-next
	if recorded != nil {
		b.rollback()
		return nil, recorded
	}
	return b.batch, b.err
}

// send brings a batch from its intent to its commit.
func (a *ahead) send(ctx context.Context, b *batch) error {
	defer b.rollback()
	if len(b.hits) > 0 {
		before := a.last
		a.last = nil // whatever comes of the turn, they are the journal's now
		if err := a.journal.Turn(ctx, before, b.ticket, b.numbers()...); err != nil {
			return err
		}
		sent, err := b.send(ctx)
		if err != nil {
			return err
		}
		if sent {
			// It takes a session of its own, and a pooler may have none until the
			// batch that is in the making is over.
			a.wakes.Go(func() { a.store.wake(context.WithoutCancel(ctx), a.m) })
		}
	}
	a.last = append(a.last, b.outcomes...)
	return nil
}

func (a *ahead) record(ctx context.Context) error {
	if len(a.last) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	last := a.last
	a.last = nil
	return a.journal.Record(ctx, last...)
}
