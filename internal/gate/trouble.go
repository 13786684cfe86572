package gate

import (
	"errors"
	"fmt"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// stateRefusal says that ledger and log cannot be opened. The causes of these
// refusals name files of ours and what the system says about them, so people are
// shown them.
func stateRefusal(err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	r := refuse(CodeClosed, "The state folder cannot be used, so nothing is done. Ask a person to run `redrive-mcp doctor`.").because(err)
	r.Hint = err.Error()
	if u, ok := errors.AsType[*durable.Unsafe](err); ok {
		r.Sentence = fmt.Sprintf("The state folder is refused: %s. Ask a person to mend it.", u.Why)
		r.Hint = u.Path + ": " + u.Hint
	}
	return r
}

// auditRefusal says that the log could not be written; also is what the call had
// come to.
func auditRefusal(err error, also ...error) error {
	r := refuse(CodeAudit, "This call could not be written to the audit log, so it was not carried out. Ask a person to run `redrive-mcp doctor`.").
		because(errors.Join(append(also, err)...))
	r.Hint = err.Error()
	return r
}

// lateRefusal is of a call that was carried out before the log failed. What was
// done is in the ledger, so untold can write it.
func lateRefusal(done string, err error) error {
	return refuse(CodeAudit, "%s, but that could not be written to the audit log yet. Ask a person to run `redrive-mcp doctor`.", done).
		because(err).hint("the next command after this is mended writes what is missing: %v", err)
}

// ledgerRefusal puts what keeps the ledger from being written into words. Other
// errors stay what they are.
func ledgerRefusal(err error) error {
	if _, ok := errors.AsType[*Refusal](err); ok || err == nil {
		return err
	}
	var lag *ledger.ClockError
	switch {
	case errors.Is(err, durable.ErrLocked):
		return refuse(CodeClosed, "Another process keeps the ledger locked, so nothing was done. Try again in a minute, or ask a person to run `redrive-mcp doctor`.").
			because(err).hint("%v", err)
	case ledger.DiskFails(err):
		return refuse(CodeClosed, "The ledger cannot be written: the disk of the state folder is full or fails. Ask a person to run `redrive-mcp doctor`.").
			because(err).hint("%v", err)
	case errors.As(err, &lag):
		return refuse(CodeClosed, "%s. Nothing is sent until a person has set the clock right.", upper(lag.Error())).because(err)
	}
	return err
}
