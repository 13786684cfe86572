package gate

import (
	"context"
	"errors"
	"syscall"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/redrive"
)

// voidError halts a run because the plan may not be run any more at all.
type voidError struct{ why string }

func (e voidError) Error() string { return e.why }

// execute runs a plan to its end, or takes it over.
func (c *call) execute(ctx context.Context, row ledger.Plan, progress func()) (ledger.State, error) {
	w, err := c.warrant(ctx, row)
	if err != nil {
		return row.State, c.cannotRun(ctx, row, err)
	}
	if row.State != ledger.Approved && len(w.t.q.Redact.Paths) > 0 {
		w.known = maxSought + 1 // what an earlier executor had in hand is not read again
	}
	w.orphan = row.Mode == modeDirect && row.State != ledger.Approved
	if row.State == ledger.Approved {
		// A plan that may not run is ended before it begins.
		if err := w.check(ctx); err != nil {
			return row.State, c.cannotRun(ctx, row, err)
		}
	}
	rec := c.record("")
	rec.Queue, rec.Rule, rec.Effect = row.Queue, w.doc.Rule, w.doc.Mode
	state, err := c.st.exec.Run(ctx, w.t.store, redrive.Order{
		Plan: row.ID, Digest: row.Digest, Queue: row.Queue, Physical: row.Physical,
		Attempts: w.doc.Attempts, Rate: w.doc.Rate, PerHour: w.doc.PerHour,
		Check: w.check, Still: w.still, There: w.there, Bind: w.bind, Commit: w.commit, Redact: w.clean,
		Record: rec, Progress: progress,
	})
	if err != nil && state == "" && ctx.Err() != nil {
		return state, interrupted(row, err)
	}
	if err != nil {
		err = runRefusal(row, state, err)
	}
	return state, err
}

func interrupted(row ledger.Plan, err error) error {
	return refuse(CodeInterrupted, "Request %s was not started: the command was interrupted.", row.ID).because(err)
}

// cannotRun voids an approved plan if it can never run, and records why.
func (c *call) cannotRun(ctx context.Context, row ledger.Plan, err error) error {
	if ctx.Err() != nil {
		err = interrupted(row, err)
	}
	ctx = context.WithoutCancel(ctx)
	rec := c.record(audit.PhaseOutcome)
	rec.Plan, rec.Queue, rec.Outcome, rec.Why = row.Digest, row.Queue, "not started", c.clean(err.Error())
	var aerr error
	if _, void := errors.AsType[voidError](err); void && row.State == ledger.Approved {
		if verr := c.st.ledger.Void(ctx, row.ID, err.Error()); verr != nil {
			return errors.Join(err, verr)
		}
		rec.Outcome = string(ledger.Void)
		aerr = c.tell(ctx, row.ID, ledger.Void, rec)
	} else {
		_, aerr = c.st.log.Append(ctx, rec)
	}
	if aerr != nil {
		return auditRefusal(errors.Join(err, aerr))
	}
	if _, ok := errors.AsType[*Refusal](err); ok {
		return err
	}
	return notStarted(row, err)
}

// notStarted is the refusal of a run that left the plan as it was.
func notStarted(row ledger.Plan, err error) error {
	code := CodeState
	if halt, ok := errors.AsType[haltedError](err); ok && halt.code != "" {
		code = halt.code
	} else if _, ok := errors.AsType[voidError](err); ok {
		code = CodePolicy
	} else if isMove(err) {
		code = CodeElsewhere
	}
	r := refuse(code, "Request %s was not started: %s.", row.ID, reasonOf(err)).because(err)
	if unsafe, ok := errors.AsType[*durable.Unsafe](err); ok {
		r.Hint = unsafe.Path + ": " + unsafe.Hint
	}
	return r
}

// runRefusal says how far a run came. state is "" if it never had the plan.
func runRefusal(row ledger.Plan, state ledger.State, err error) error {
	var fence *ledger.FenceError
	if errors.As(err, &fence) {
		return refuse(CodeElsewhere, "Request %s is being run by another process.", row.ID).because(err)
	}
	if state == "" {
		return notStarted(row, err)
	}
	var halt *redrive.HaltError
	if errors.As(err, &halt) {
		r := refuse(CodeState, "The run of %s stopped before its end: %s. What was not sent is released.", row.ID, reasonOf(halt.Why)).because(err)
		if errors.Is(err, redrive.ErrStopped) {
			r.Hint = "the messages that were not sent are still dead letters; request them again"
		}
		return r
	}
	return refuse(CodeStore, "The run of %s stopped, and what became of its last batch is not known yet: %s. Nothing is sent twice: the next run asks the store first.", row.ID, reasonOf(err)).
		because(err).hint("redrive-mcp run %s", row.ID)
}

// reasonOf is an error in our own words.
func reasonOf(err error) string {
	var s *backends.Error
	var v voidError
	var r *Refusal
	var lag *ledger.ClockError
	var move *ledger.MoveError
	var unsafe *durable.Unsafe
	var stale *ledger.StaleError
	switch {
	case errors.Is(err, durable.ErrLocked):
		return "another process keeps the ledger or the log locked"
	case ledger.DiskFails(err), errors.Is(err, syscall.ENOSPC):
		return "the disk of the state folder is full or fails"
	case errors.Is(err, audit.ErrClosed):
		return "the audit log cannot be written any more"
	case errors.As(err, &stale):
		return stale.Error()
	case errors.As(err, &unsafe):
		return "a file of the state folder is refused: " + unsafe.Why
	case errors.As(err, &lag):
		return lag.Error()
	case errors.As(err, &move):
		return move.Error()
	case errors.As(err, &r):
		return r.Sentence
	case errors.As(err, &v):
		return v.why
	case errors.As(err, &s):
		return s.Sentence
	case errors.Is(err, redrive.ErrStopped), errors.Is(err, redrive.ErrLimit):
		return err.Error()
	}
	var halt haltedError
	if errors.As(err, &halt) {
		return halt.why
	}
	return "an internal error, which is in the audit log"
}

// haltedError stops a run whose plan stays what it is. code is the refusal's, if
// it is not CodeState.
type haltedError struct {
	why  string
	code Code
}

func (e haltedError) Error() string { return e.why }
