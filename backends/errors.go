package backends

import (
	"errors"
	"fmt"
)

// Code is a stable word for what happened to an item or a call.
type Code string

const (
	Gone        Code = "gone"         // no dead letter has this id
	NotFound    Code = "not_found"    // it was not found now, and may still be there
	Changed     Code = "changed"      // something differs from what was planned
	Busy        Code = "busy"         // a worker or another session holds it
	Conflict    Code = "conflict"     // an equal job is already queued
	Refused     Code = "refused"      // the store's own rules refuse the write
	Unreachable Code = "unreachable"  // the store does not answer
	NoAccess    Code = "no_access"    // a privilege is missing
	BadMapping  Code = "bad_mapping"  // the policy's source does not fit the store
	ReadOnly    Code = "read_only"    // a replica or a read-only session
	TooSlow     Code = "too_slow"     // a time limit of the store was reached
	BadID       Code = "bad_id"       // not a possible id of this queue
	BadPosition Code = "bad_position" // not a position of this scan
	NoAnswer    Code = "no_answer"    // the effect may or may not have happened
	Internal    Code = "internal"
)

// Sentences are what a person or an agent is told about a code of an item.
var sentences = map[Code]string{
	Gone:     "it is no longer among the dead letters",
	NotFound: "it was not found now: somebody else may hold it, or it is gone; look again with refresh",
	Changed:  "it changed since it was looked at; inspect it again",
	Busy:     "another session holds it; try again in a minute",
	Conflict: "an equal job is already queued",
	Refused:  "the store refused it",
	NoAnswer: "the store did not answer, so it may or may not have been sent",
}

// Sentence explains a code of an item in our own words.
func (c Code) Sentence() string {
	if s, ok := sentences[c]; ok {
		return s
	}
	return string(c)
}

// Error is a failure of a store in our own words. Sentence and Hint never hold
// text from a store. Cause does; it goes to the audit log, redacted, and to no
// other place.
type Error struct {
	Code     Code
	Sentence string // what happened, no capital, no full stop
	Hint     string // what to do next, for a person; may be empty
	Cause    error
}

// Errorf makes an Error with a sentence.
func Errorf(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Sentence: fmt.Sprintf(format, args...), Cause: cause}
}

// WithHint adds what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

func (e *Error) Error() string { return e.Sentence }
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf is the code of a store's error, Internal if it has none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
