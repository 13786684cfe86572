package gate

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Codes of refusals. They are stable: scripts and tests read them.
type Code string

const (
	CodeBadArgument Code = "bad_argument"
	CodeNoQueue     Code = "unknown_queue"
	CodeNoLetter    Code = "no_such_letter"
	CodeNoRequest   Code = "no_such_request"
	CodeNoPatch     Code = "no_such_patch"
	CodePolicy      Code = "policy"        // the policy says no
	CodeClaimed     Code = "claimed"       // another request has the letter
	CodeLimit       Code = "limit"         // too many at once or in an hour
	CodeState       Code = "state"         // the request is not in a state for that
	CodeInterrupted Code = "interrupted"   // the caller went away before it began
	CodeElsewhere   Code = "elsewhere"     // another process runs the request
	CodeStopped     Code = "stopped"       // somebody stopped all redrives
	CodeDenied      Code = "denied"        // a person said no to the same request
	CodeChanged     Code = "changed"       // the letters changed
	CodeNothing     Code = "nothing_to_do" // no letter fits
	CodeStore       Code = "store"         // the store does not do its part
	CodeAudit       Code = "audit"         // it could not be recorded
	CodeClosed      Code = "closed"        // ledger and log disagree, or the clock is wrong
	CodeBadPolicy   Code = "bad_policy"    // the policy file does not load
)

// Refusal is a call that was not carried out, in our own words: what is so and
// what can be done next. It never holds unquoted text of a store.
type Refusal struct {
	Code     Code
	Sentence string
	Hint     string // for a person, what to run; agents are not shown it
	Cause    error  // for the audit log
}

func (r *Refusal) Error() string { return r.Sentence }
func (r *Refusal) Unwrap() error { return r.Cause }

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Sentence: fmt.Sprintf(format, args...)}
}

func (r *Refusal) because(err error) *Refusal {
	r.Cause = err
	return r
}

func (r *Refusal) hint(format string, args ...any) *Refusal {
	r.Hint = fmt.Sprintf(format, args...)
	return r
}

// quote shows a caller's own word in an error: ASCII, at most 80 characters.
func quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		return strconv.QuoteToASCII(string(r[:80])) + "…"
	}
	return strconv.QuoteToASCII(s)
}

// storeRefusal turns a store's error into a refusal.
func storeRefusal(queue string, err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	e, ok := errors.AsType[*backends.Error](err)
	if !ok {
		return refuse(CodeStore, "The store of %s failed; the reason is in the audit log. Ask a person to look.", queue).because(err)
	}
	r := refuse(CodeStore, "The store of %s: %s.", queue, e.Sentence).because(err)
	r.Hint = e.Hint
	return r
}
