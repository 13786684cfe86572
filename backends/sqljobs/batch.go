package sqljobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// batch is what one ticket covers: one transaction.
type batch struct {
	store    *Store
	m        *mapping
	attempts string
	items    []backends.Item
	journal  backends.Journal
	possible map[string]bool // nil: every id may be one

	outcomes   []backends.Outcome // of items that are not sent
	hits       []hit
	intended   bool
	journalErr error
}

// hit is an item whose row is locked and is what was planned.
type hit struct {
	item  backends.Item
	id    []value
	newID string
}

func (b *batch) reset() { b.outcomes, b.hits, b.intended, b.journalErr = nil, nil, false, nil }

func (b *batch) skip(n int, code backends.Code) {
	b.outcomes = append(b.outcomes, backends.Outcome{N: n, State: backends.Skipped, Code: code})
}

// attempt is the order that nothing may change: lock, compare, write, intend,
// commit, record.
func (b *batch) attempt(ctx context.Context) error {
	t, err := b.store.begin(ctx, send, b.m)
	if err != nil {
		return err
	}
	defer t.rollback()
	if err := b.match(ctx, t); err != nil {
		return err
	}
	if err := b.apply(ctx, t); err != nil {
		return err
	}
	if len(b.hits) == 0 {
		t.rollback()
		return b.record(ctx)
	}
	ticket := newTicket()
	if err := b.store.leaveReceipt(ctx, t, b.m, ticket, b.hits); err != nil {
		return err
	}
	if err := b.intend(ctx, ticket); err != nil {
		return err
	}
	// From here on the batch is finished whatever becomes of the caller: a
	// cancelled commit would be a send that nobody recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	if err := b.commit(ctx, t); err != nil {
		return err
	}
	return b.settle(ctx)
}

// commitLimit bounds a commit and the recording after it.
const commitLimit = 30 * time.Second

// newTicket is 128 random bits.
func newTicket() string {
	var raw [16]byte
	rand.Read(raw[:])
	return hex.EncodeToString(raw[:])
}

func (b *batch) intend(ctx context.Context, ticket string) error {
	ns := make([]int, len(b.hits))
	for i, h := range b.hits {
		ns[i] = h.item.N
	}
	b.journalErr = b.journal.Intend(ctx, ticket, ns...)
	b.intended = b.journalErr == nil
	return b.journalErr
}

// commit tells the three ends of a commit apart. Without an answer nothing is
// recorded: Resolve asks the store later. An answer that refuses the commit is
// proof that nothing was sent.
func (b *batch) commit(ctx context.Context, t tx) error {
	err := t.commit(ctx)
	if err == nil {
		return nil
	}
	if ours, ok := errors.AsType[*backends.Error](err); ok { // it was not even tried
		return ours
	}
	f := b.store.engine.fault(err)
	if f.lost {
		return backends.Errorf(backends.NoAnswer, err, "the database did not answer the commit, so the batch may or may not have been sent").
			WithHint("it is settled when the redrive is resumed")
	}
	t.rollback()
	for _, h := range b.hits {
		b.fail(h, f, err)
	}
	b.hits = nil
	return nil
}

// fail gives an item that the database refused its outcome. A busy database is
// no refusal.
func (b *batch) fail(h hit, f fault, cause error) {
	o := backends.Outcome{N: h.item.N, State: backends.Failed, Code: backends.Refused, Cause: cause}
	switch {
	case f.code == backends.Conflict:
		o.Code = backends.Conflict
	case f.retry || f.code == backends.Busy:
		o.State, o.Code = backends.Skipped, backends.Busy
	}
	b.outcomes = append(b.outcomes, o)
}

// settle records the batch and wakes the workers.
func (b *batch) settle(ctx context.Context) error {
	sent := len(b.hits) > 0
	for _, h := range b.hits {
		b.outcomes = append(b.outcomes, backends.Outcome{N: h.item.N, State: backends.Done, NewID: h.newID})
	}
	err := b.record(ctx)
	if sent {
		b.store.wake(ctx, b.m)
	}
	return err
}

func (b *batch) record(ctx context.Context) error {
	b.journalErr = b.journal.Record(ctx, b.outcomes...)
	return b.journalErr
}
