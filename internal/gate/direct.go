package gate

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// takeBack cancels a plan that nobody has started, and returns why.
func (c *call) takeBack(ctx context.Context, row ledger.Plan, why error) error {
	if _, err := c.st.ledger.Cancel(ctx, row.ID, "not started: "+oneLine(reasonOf(why), 200)); err != nil {
		return errors.Join(why, err)
	}
	row.State, row.Why = ledger.Cancelled, c.clean(why.Error())
	if err := c.tell(ctx, row.ID, row.State, c.endOf(row, c.record(""))); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// ErrCancelled is the cause with which a transport ends the context of a call
// that its client has taken back: a direct redrive then stops between two
// batches.
var ErrCancelled = errors.New("the client took the call back")

// runDirect runs a plan that needs nobody, and waits for it as long as a call
// may take.
func (c *call) runDirect(ctx context.Context, d *draft, row ledger.Plan) (*RequestResult, error) {
	live := context.WithoutCancel(ctx)
	done := make(chan error, 1)
	// The run outlives the call, unless the client takes the call back.
	run, stop := context.WithCancel(live)
	if !c.s.start(func(session context.Context) {
		defer stop()
		defer context.AfterFunc(session, stop)()
		// Whoever left still gets the batch in hand, and no more.
		var begun atomic.Bool
		enough := func() {
			if begun.Load() && c.s.leaving.Err() != nil {
				stop()
			}
		}
		defer context.AfterFunc(c.s.leaving, enough)()
		done <- c.runNow(run, row, func() { begun.Store(true); enough() })
	}) {
		return nil, c.takeBack(live, row, refuse(CodeState, "The session ends, so request %s is cancelled and nothing of it is sent.", row.ID))
	}
	wait := time.NewTimer(c.s.g.o.DirectWait)
	defer wait.Stop()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
	case <-wait.C:
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrCancelled) {
			stop()
		}
	}
	now, err := c.st.ledger.Get(live, row.ID)
	if err != nil {
		return nil, err
	}
	if now.State == ledger.Approved { // its run is about to begin
		now.State, now.Lease = ledger.Running, now.NotAfter
	}
	res, err := c.result(live, now, false)
	if err != nil {
		return nil, err
	}
	res.LeftOut, res.Rule = d.left(), d.rule.Rule
	return &res, nil
}

// runNow runs a direct plan. The error is nil if it was started, whatever became
// of it then; one that was not is over, so that nobody starts it later.
func (c *call) runNow(ctx context.Context, row ledger.Plan, progress func()) error {
	_, err := c.execute(ctx, row, progress)
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	now, gerr := c.st.ledger.Get(ctx, row.ID)
	switch {
	case gerr != nil:
		return errors.Join(err, gerr)
	case now.State == ledger.Approved:
		return c.takeBack(ctx, row, err)
	case now.Run == "":
		return err
	}
	return nil
}
