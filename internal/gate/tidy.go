package gate

import (
	"context"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// tidy ends what is over, requests whose time is up and direct redrives whose
// session has gone, and writes what the log still lacks. A person's look must not
// fail because the disk is full or fails.
func (c *call) tidy(ctx context.Context) error {
	err := c.withRoom(func() error { return c.upToDate(ctx) })
	if err == nil {
		err = c.settleOrphans(ctx)
	}
	if err == nil {
		err = c.untold(ctx)
	}
	if c.urgent && ledger.DiskFails(err) {
		return nil
	}
	return err
}

// upToDate brings the open requests to where time and people have them by now.
func (c *call) upToDate(ctx context.Context) error {
	if err := c.unconfirmed(ctx); err != nil {
		return err
	}
	return c.expire(ctx)
}

// withRoom does f again with the space that is held back, if the disk is full
// and the call may use it.
func (c *call) withRoom(f func() error) error {
	err := f()
	if !c.urgent || !ledger.IsFull(err) || c.st.log.FreeReserve() != nil {
		return err
	}
	return f()
}

// expire ends requests whose time is up, and records that.
func (c *call) expire(ctx context.Context) error {
	due, err := c.st.ledger.Expire(ctx)
	if err != nil {
		return err
	}
	for _, id := range due {
		row, err := c.st.ledger.Get(ctx, id)
		if err != nil {
			return err
		}
		if err := c.tell(ctx, row.ID, row.State, c.endOf(row, c.record(""))); err != nil {
			return auditRefusal(err)
		}
	}
	return nil
}

// startTime is how long after it was made a direct redrive must have begun.
const startTime = 30 * time.Second

// settleOrphans ends direct redrives whose process has died: the store is asked
// what became of the last batch, and the rest is released. Nothing of an earlier
// session is sent by a later one.
func (c *call) settleOrphans(ctx context.Context) error {
	rows, err := c.st.ledger.Find(ctx, ledger.Approved, ledger.Running, ledger.Stopping)
	if err != nil {
		return err
	}
	now, _ := c.st.ledger.Now()
	for _, row := range rows {
		young := row.State == ledger.Approved && now.Sub(row.Created) < startTime
		if row.Mode != modeDirect || young || c.st.ledger.Held(ctx, row.ID) {
			continue
		}
		if row.State == ledger.Approved {
			_ = c.takeBack(ctx, row, haltedError{why: "the session that asked for it has ended"})
			continue
		}
		// What stands against it is in the log, and the next call tries again.
		_, _ = c.execute(ctx, row, nil)
	}
	return nil
}
