package redrive

import (
	"context"
	"errors"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// rein is the journal that a store is given. Where a pace or a limit holds, each
// batch is admitted when the one before is over.
func (j *journal) rein() backends.Journal {
	if j.o.Rate > 0 || j.o.PerHour > 0 || j.o.Still == nil {
		return j
	}
	return ahead{j}
}

// ahead lets a store prepare a batch while it sends the one before.
type ahead struct{ *journal }

// AdmitAhead asks whether the run may go on. Nothing limits how many may go.
func (a ahead) AdmitAhead(ctx context.Context, n int) (int, error) { return n, a.mayGoOn(ctx) }

// Turn asks whether that still holds, and then does the work of Record and Intend
// with one step of the ledger and one of the log. Its order is theirs, and so is
// what a crash leaves. What came of the batch before is recorded even where the
// next may not go.
func (a ahead) Turn(ctx context.Context, before []backends.Outcome, ticket string, ns ...int) error {
	err := a.still(ctx)
	if err == nil {
		err = a.e.Ledger.Turn(ctx, a.o.Plan, a.run, a.fence, ledger.Before{Ticket: a.last, Outcomes: before}, ticket, ns)
	}
	if err != nil {
		return errors.Join(err, a.Record(ctx, before...))
	}
	last := ledger.Before{Ticket: a.last, Outcomes: before}
	a.last = ticket
	err = a.intended(ctx, ticket, ns, before, func(h ledger.Head) error {
		return a.e.Ledger.Turned(ctx, a.o.Plan, a.fence, last, h)
	})
	if err != nil {
		return err
	}
	if len(before) > 0 && a.o.Progress != nil {
		a.o.Progress()
	}
	return nil
}

func (a ahead) still(ctx context.Context) error {
	switch {
	case a.stop.Err() != nil:
		return ErrStopped
	case a.lost.Load():
		return &ledger.FenceError{Plan: a.o.Plan}
	}
	return a.o.Still(ctx)
}
