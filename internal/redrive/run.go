package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// Lease is how long an executor that shows no life keeps its plan.
const Lease = 30 * time.Second

// Order is what an executor is told about one plan.
type Order struct {
	Plan     string // id
	Digest   string
	Queue    string
	Physical string
	Attempts string
	Rate     float64 // messages a second, 0: as fast as the store takes them
	PerHour  int     // 0: no limit
	// Check says whether the run may go on; it is asked before the first send
	// and before every batch. Its error halts the run.
	Check func(context.Context) error
	// Still says whether what Check found holds at the moment of the intent, where
	// a batch was checked while the one before was under way. It asks no store: the
	// sessions may all be taken. ErrAskAgain makes the run begin with Check again.
	// Without it nothing is checked ahead.
	Still func(context.Context) error
	// There says whether the store leads where the plan says; it is asked before
	// the store is asked what became of a batch, for another one would answer by
	// letters of its own. It may be nil.
	There func(context.Context) error
	// Bind compares an item of the ledger with the frozen plan; its error halts
	// the run before anything is sent.
	Bind func(ledger.Item) error
	// Commit names the content of an item in the log.
	Commit func(n int) string
	// Redact makes a store's error fit for the log.
	Redact func(string) string
	// Record is a log record with the fields that all records of this run share.
	Record audit.Record
	// Progress is called after every batch; it may be nil.
	Progress func()
}

// Executor runs plans. It may be used by several goroutines.
type Executor struct {
	Ledger *ledger.Ledger
	Log    *audit.Log
	// Wait waits for a pace; the real one if nil. Tests with a frozen clock
	// give their own.
	Wait func(ctx context.Context, d time.Duration) error
}

// HaltError says why a run ended before its end. The plan is over then, and what
// was not sent is released.
type HaltError struct{ Why error }

func (e *HaltError) Error() string { return e.Why.Error() }
func (e *HaltError) Unwrap() error { return e.Why }

// ErrAskAgain means that what a check was about has changed since.
var ErrAskAgain = errors.New("the policy changed since the redrive was checked")

// ErrStopped means that the caller's context ended between two batches.
var ErrStopped = errors.New("stopped between two batches")

// Run takes the plan and runs it to its end. The end of ctx stops it between two
// batches. It returns the state that the plan is in then: running, with an
// error, if the store could not say what became of a batch; whoever calls Run
// next goes on from there.
func (e *Executor) Run(ctx context.Context, store backends.Store, o Order) (ledger.State, error) {
	hold, dead, err := e.Ledger.Hold(ctx, o.Plan)
	if err != nil {
		return "", err
	}
	defer hold.Release()
	run := ledger.NewID("x")
	fence, err := e.Ledger.Start(ctx, o.Plan, run, Lease, dead)
	if err != nil {
		return "", err
	}
	j := &journal{e: e, o: o, run: run, fence: fence, stop: ctx}
	work := context.WithoutCancel(ctx)
	stopBeat := j.beat(work)
	defer stopBeat()
	state, err := j.run1(work, store)
	if state == ledger.Running {
		err = errors.Join(err, e.Ledger.Renew(work, o.Plan, fence, 0)) // the next one need not wait
	}
	return state, err
}

// run1 is one executor's life after it has the plan.
func (j *journal) run1(ctx context.Context, store backends.Store) (ledger.State, error) {
	if err := j.started(ctx); err != nil {
		return j.finish(ctx, err)
	}
	if err := j.auditLeft(ctx); err != nil {
		return ledger.Running, err
	}
	if err := j.resolve(ctx, store); err != nil {
		return ledger.Running, fmt.Errorf("settling what is in doubt: %w", err)
	}
	halt := j.sendAll(ctx, store)
	if halt != nil {
		if j.fenced(ctx) { // whatever is in doubt is the other's to settle
			return ledger.Running, errors.Join(&ledger.FenceError{Plan: j.o.Plan}, halt)
		}
		// A batch may have been intended when it stopped: only the store knows.
		if err := j.resolve(ctx, store); err != nil {
			return ledger.Running, fmt.Errorf("%w; and what became of the last batch is not known yet: %w", halt, err)
		}
	}
	return j.finish(ctx, halt)
}

// tries bounds how often a step is done again that came too late, or that
// somebody else did meanwhile.
const tries = 3

// sendAll sends what is still claimed. Where the process stood still between
// admission and intent nothing was sent, and it asks again whether it may go on.
func (j *journal) sendAll(ctx context.Context, store backends.Store) (halt error) {
	for range tries {
		halt = j.send(ctx, store)
		if _, stale := errors.AsType[*ledger.StaleError](halt); !stale && !errors.Is(halt, ErrAskAgain) {
			break
		}
	}
	return halt
}

// started writes the run to the log. The fence tells later which of a plan's runs
// a ledger knows of.
func (j *journal) started(ctx context.Context) error {
	head, err := j.write(ctx, j.entry(audit.PhaseRun, func(r *audit.Record) {
		r.Outcome = "started"
		r.Args = append(slices.Clip(r.Args), audit.Arg{Key: "fence", Value: j.fence})
	}))
	if err != nil {
		return err
	}
	return j.e.Ledger.SetHead(ctx, head)
}

// send gives the store what is still claimed.
func (j *journal) send(ctx context.Context, store backends.Store) error {
	var items []backends.Item
	for it, err := range j.e.Ledger.Items(ctx, j.o.Plan, backends.Claimed) {
		if err != nil {
			return err
		}
		if err := j.o.Bind(it); err != nil {
			return err
		}
		items = append(items, backends.Item{N: it.N, Ref: it.Ref, Body: it.Body})
	}
	if len(items) == 0 {
		return nil
	}
	return store.Redrive(ctx, backends.Order{Queue: j.o.Queue, Attempts: j.o.Attempts, Items: items}, j.rein())
}

// resolve asks the store about every item that was intended and has no outcome.
// An executor that lost the plan may say at the same moment what became of its
// batch; what is left then is asked again.
func (j *journal) resolve(ctx context.Context, store backends.Store) (err error) {
	for range tries {
		err = j.ask(ctx, store)
		if _, moved := errors.AsType[*ledger.MoveError](err); !moved {
			break
		}
	}
	return err
}

func (j *journal) ask(ctx context.Context, store backends.Store) error {
	var doubts []backends.Doubt
	for it, err := range j.e.Ledger.Items(ctx, j.o.Plan, backends.Intended, backends.Sent) {
		if err != nil {
			return err
		}
		doubts = append(doubts, backends.Doubt{Item: backends.Item{N: it.N, Ref: it.Ref, Body: it.Body}, Ticket: it.Ticket, State: it.State, NewID: it.NewID})
	}
	if len(doubts) == 0 {
		return nil
	}
	if j.o.There != nil {
		if err := j.o.There(ctx); err != nil {
			return err
		}
	}
	return store.Resolve(ctx, j.o.Queue, doubts, &resolver{j})
}

// finish ends the plan and says so in the log. A failure to say so does not undo
// the end: the ledger knows it, and the caller is told. While outcomes are
// missing in the log the plan does not end, because nobody would come back to
// write them.
func (j *journal) finish(ctx context.Context, halt error) (ledger.State, error) {
	if err := j.auditLeft(ctx); err != nil {
		return ledger.Running, errors.Join(halt, err)
	}
	why := ""
	if halt != nil {
		why = halt.Error()
	}
	state, err := j.e.Ledger.Finish(ctx, j.o.Plan, j.fence, halt != nil, why)
	if err != nil {
		return ledger.Running, errors.Join(halt, err)
	}
	head, err := j.write(ctx, j.entry(audit.PhaseOutcome, func(r *audit.Record) { r.Outcome, r.Why = string(state), why }))
	if err == nil {
		// What is not noted is told the log once more, by whoever comes next.
		_ = j.e.Ledger.Told(ctx, j.o.Plan, state, head)
	}
	if halt != nil {
		halt = &HaltError{halt}
	}
	return state, errors.Join(halt, err)
}
