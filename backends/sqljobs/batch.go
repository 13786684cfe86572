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
	possible map[string]bool // nil: every id may be one

	t        tx                 // open from the locks to the commit
	outcomes []backends.Outcome // of items that are not sent
	hits     []hit
	ticket   string
}

// hit is an item whose row is locked and is what was planned.
type hit struct {
	item  backends.Item
	id    []value
	newID string
}

// reset makes a batch as if nothing had been tried.
func (b *batch) reset() {
	b.rollback()
	b.outcomes, b.hits = nil, nil
}

// rollback may be called after the commit, and does nothing then.
func (b *batch) rollback() {
	if b.t != nil {
		b.t.rollback()
	}
}

func (b *batch) skip(n int, code backends.Code) {
	b.outcomes = append(b.outcomes, backends.Outcome{N: n, State: backends.Skipped, Code: code})
}

// The order of a batch, which nothing may change: lock, compare, write, intend,
// commit, record.

// prepare is what comes before the intent.
func (b *batch) prepare(ctx context.Context) (err error) {
	if b.t, err = b.store.begin(ctx, send, b.m); err != nil {
		return err
	}
	if err := b.match(ctx, b.t); err != nil {
		return err
	}
	if err := b.apply(ctx, b.t); err != nil {
		return err
	}
	if len(b.hits) == 0 {
		b.rollback()
		return nil
	}
	b.ticket = newTicket()
	return b.store.leaveReceipt(ctx, b.t, b.m, b.ticket, b.hits)
}

// send commits a batch that was intended. From here on it is finished whatever
// becomes of the caller: a cancelled commit would be a send that nobody recorded.
// It says whether anything was sent.
func (b *batch) send(ctx context.Context) (sent bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	if err := b.commit(ctx, b.t); err != nil {
		return false, err
	}
	for _, h := range b.hits {
		b.outcomes = append(b.outcomes, backends.Outcome{N: h.item.N, State: backends.Done, NewID: h.newID})
	}
	return len(b.hits) > 0, nil
}

// commitLimit bounds a commit, and the recording after it.
const commitLimit = 30 * time.Second

// newTicket is 128 random bits.
func newTicket() string {
	var raw [16]byte
	rand.Read(raw[:])
	return hex.EncodeToString(raw[:])
}

// numbers are the items that are about to be sent.
func (b *batch) numbers() []int {
	ns := make([]int, len(b.hits))
	for i, h := range b.hits {
		ns[i] = h.item.N
	}
	return ns
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
