package redrive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// ErrLimit means that the hour's limit is used up.
var ErrLimit = errors.New("the hour's limit of this queue is used up")

// journal is the rein on a store during one run. Its order is: ledger, log,
// effect, ledger, log. A crash
//   - before Intend's ledger write: the item is still claimed;
//   - between ledger and log, or between log and effect: the item is intended,
//     and the store tells that nothing was sent;
//   - between the effect and Record: the item is intended, and the store's
//     receipt tells that it was sent, or nobody can: unknown;
//   - between Record's ledger write and the log: the log's record is written
//     before the plan ends, if need be by the next executor (auditLeft).
type journal struct {
	e     *Executor
	o     Order
	run   string
	fence int64
	stop  context.Context // ends when the run is to stop between two batches
	lost  atomic.Bool     // another executor has the plan
	last  string          // the ticket of the last Turn
	mu    sync.Mutex      // one Record at a time, so that the log's order is the ledger's
}

// maxWait is how long a run waits for its pace before it asks again whether it
// may go on.
const maxWait = 2 * time.Second

// Admit asks whether the run may go on, waits for pace, and takes a share of the
// hour's limit. Nothing is held while it waits.
func (j *journal) Admit(ctx context.Context, n int) (int, error) {
	if err := j.mayGoOn(ctx); err != nil {
		return 0, err
	}
	admitted, wait, err := j.e.Ledger.Pace(ctx, j.o.Physical, j.o.Rate, n)
	if err != nil {
		return 0, err
	}
	for ; wait > 0; wait -= maxWait {
		if err := j.e.wait(j.stop, min(wait, maxWait)); err != nil {
			return 0, ErrStopped
		}
		// Much can have happened meanwhile.
		if err := j.mayGoOn(ctx); err != nil {
			return 0, err
		}
	}
	granted, err := j.e.Ledger.Reserve(ctx, j.o.Plan, j.fence, j.o.Physical, j.o.PerHour, admitted)
	if err != nil {
		return 0, err
	}
	if granted == 0 {
		return 0, ErrLimit
	}
	return granted, nil
}

func (j *journal) mayGoOn(ctx context.Context) error {
	if j.stop.Err() != nil {
		return ErrStopped
	}
	if j.lost.Load() {
		return &ledger.FenceError{Plan: j.o.Plan}
	}
	return j.o.Check(ctx)
}

// Intend makes the intent durable in the ledger, then in the log. Whoever stood
// still between the two may have lost the plan, so the last step asks again.
func (j *journal) Intend(ctx context.Context, ticket string, ns ...int) error {
	if err := j.e.Ledger.Intend(ctx, j.o.Plan, j.run, j.fence, ticket, ns); err != nil {
		return err
	}
	return j.intended(ctx, ticket, ns, nil, func(h ledger.Head) error {
		return j.e.Ledger.Intended(ctx, j.o.Plan, j.fence, h)
	})
}

// intended writes an intent that the ledger holds to the log, behind the outcomes
// of the batch before, if there are any. noted asks a last time whether the plan is
// still this executor's.
func (j *journal) intended(ctx context.Context, ticket string, ns []int, before []backends.Outcome, noted func(ledger.Head) error) error {
	items := make([]audit.Item, len(ns))
	for i, n := range ns {
		items[i] = audit.Item{N: n, Commit: j.o.Commit(n)}
	}
	var recs []audit.Record
	if len(before) > 0 {
		recs = append(recs, j.outcome(audit.PhaseOutcome, before))
	}
	head, err := j.write(ctx, append(recs, j.entry(audit.PhaseIntent, func(r *audit.Record) {
		r.Items = items
		r.Args = []audit.Arg{{Key: "ticket", Value: ticket}}
	}))...)
	if err != nil {
		return err
	}
	err = noted(head)
	if isLost(err) {
		return errors.Join(err, j.callOff(ctx, items))
	}
	return err
}

// callOff says in the log that an intent came to nothing. The ledger needs no
// such word: the other executor has settled these items there.
func (j *journal) callOff(ctx context.Context, items []audit.Item) error {
	for i := range items {
		items[i] = audit.Item{N: items[i].N, State: string(backends.Claimed)}
	}
	_, err := j.write(context.WithoutCancel(ctx), j.entry(audit.PhaseOutcome, func(r *audit.Record) {
		r.Items, r.Why = items, "another executor had taken the plan over, so this one did nothing"
	}))
	return err
}

func isLost(err error) bool {
	_, ok := errors.AsType[*ledger.FenceError](err)
	return ok
}

// Record makes outcomes durable in the ledger, then in the log.
func (j *journal) Record(ctx context.Context, outcomes ...backends.Outcome) error {
	return j.record(ctx, audit.PhaseOutcome, outcomes)
}

func (j *journal) record(ctx context.Context, phase string, outcomes []backends.Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	ctx = context.WithoutCancel(ctx) // the effect has happened
	stored, err := j.store(ctx, outcomes)
	if err != nil {
		return err
	}
	if len(stored) > 0 {
		if err := j.log(ctx, j.outcome(phase, stored), stored); err != nil {
			return err
		}
		if j.o.Progress != nil {
			j.o.Progress()
		}
	}
	if len(stored) < len(outcomes) {
		return &ledger.FenceError{Plan: j.o.Plan}
	}
	return nil
}

// store puts outcomes into the ledger, on a full disk into the space that is
// held back for them.
func (j *journal) store(ctx context.Context, outcomes []backends.Outcome) ([]backends.Outcome, error) {
	stored, err := j.e.Ledger.Record(ctx, j.o.Plan, j.run, j.fence, outcomes)
	if !ledger.IsFull(err) || j.e.Log.FreeReserve() != nil {
		return stored, err
	}
	return j.e.Ledger.Record(ctx, j.o.Plan, j.run, j.fence, outcomes)
}

// log writes outcomes that the ledger has to the log, and notes in the ledger
// that they are there.
func (j *journal) log(ctx context.Context, rec audit.Record, outcomes []backends.Outcome) error {
	head, err := j.write(ctx, rec)
	if err != nil {
		return err
	}
	return j.e.Ledger.Audited(ctx, j.o.Plan, outcomes, head)
}

func (j *journal) outcome(phase string, outcomes []backends.Outcome) audit.Record {
	items := make([]audit.Item, len(outcomes))
	cause := ""
	for i, o := range outcomes {
		items[i] = audit.Item{N: o.N, State: string(o.State), Code: string(o.Code), NewID: o.NewID}
		if o.Cause != nil && cause == "" {
			cause = j.o.Redact(o.Cause.Error())
		}
	}
	return j.entry(phase, func(r *audit.Record) { r.Items, r.Err = items, cause })
}

// auditLeft writes the outcomes that an executor, an earlier one or this one,
// stored in the ledger and could not write to the log. They are outcomes like
// others, marked as recovered.
func (j *journal) auditLeft(ctx context.Context) error {
	outcomes, err := j.e.Ledger.Unaudited(ctx, j.o.Plan)
	if err != nil || len(outcomes) == 0 {
		return err
	}
	rec := j.outcome(audit.PhaseOutcome, outcomes)
	rec.Args = []audit.Arg{{Key: "recovered", Value: true}}
	if err := j.log(ctx, rec, outcomes); err != nil {
		return fmt.Errorf("recording what was done: %w", err)
	}
	return nil
}

// entry is a record of this run.
func (j *journal) entry(phase string, fill func(*audit.Record)) audit.Record {
	r := j.o.Record
	r.Phase, r.Plan, r.Run, r.Queue = phase, j.o.Digest, j.run, j.o.Queue
	fill(&r)
	return r
}

// write appends records to the log and returns the last one's Head.
func (j *journal) write(ctx context.Context, recs ...audit.Record) (ledger.Head, error) {
	head, err := j.e.Log.Append(ctx, recs...)
	return ledger.Head{Log: head.Log, Seq: head.Seq, Hash: head.Hash}, err
}

// beat renews the lease until the returned function is called.
func (j *journal) beat(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if j.fenced(ctx) {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// fenced renews the lease, and reports whether another executor has the plan.
func (j *journal) fenced(ctx context.Context) bool {
	if isLost(j.e.Ledger.Renew(ctx, j.o.Plan, j.fence, Lease)) {
		j.lost.Store(true)
	}
	return j.lost.Load()
}

func (e *Executor) wait(ctx context.Context, d time.Duration) error {
	if e.Wait != nil {
		return e.Wait(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// resolver is the journal while a store answers doubts: it records, and refuses
// to let anything be sent.
type resolver struct{ *journal }

// Admit refuses: an answer about the past needs no admission.
func (r *resolver) Admit(context.Context, int) (int, error) {
	return 0, errors.New("a store may not send while it resolves")
}

// Intend refuses.
func (r *resolver) Intend(context.Context, string, ...int) error {
	return errors.New("a store may not send while it resolves")
}

// Record notes what the store found out.
func (r *resolver) Record(ctx context.Context, outcomes ...backends.Outcome) error {
	return r.record(ctx, audit.PhaseResolve, outcomes)
}
