package cli

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// Exit codes of every command but `audit verify`, which has its own.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUse     = 2 // a flag or an argument is wrong
	exitRefused = 3 // the policy, or what it makes of the moment, says no
	exitNothing = 4 // there was nothing to do
)

// failure is an error with an exit code and hints.
type failure struct {
	code  int
	text  string
	hints []string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

func fail(code int, format string, args ...any) *failure {
	err := fmt.Errorf(format, args...)
	return &failure{code: code, text: err.Error(), cause: errors.Unwrap(err)}
}

func wrongUse(format string, args ...any) *failure { return fail(exitUse, format, args...) }

func (f *failure) hint(format string, args ...any) *failure {
	f.hints = append(f.hints, fmt.Sprintf(format, args...))
	return f
}

// errSaid ends a command whose result already says what is wrong.
type errSaid int

func (e errSaid) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// report prints an error and gives its exit code.
func (u *ui) report(err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if said, ok := errors.AsType[errSaid](err); ok {
		return int(said)
	}
	code, hints := exitFailed, []string(nil)
	if f, ok := errors.AsType[*failure](err); ok {
		code, hints = f.code, f.hints
	} else if r, ok := errors.AsType[*gate.Refusal](err); ok {
		code = refusalExit(r.Code)
		if r.Hint != "" {
			hints = []string{r.Hint}
		}
	}
	u.errorf("%s", lowered(forPeople(block(err.Error()))))
	for _, h := range hints {
		u.hintf("%s", lowered(forPeople(oneLine(h))))
	}
	return code
}

func refusalExit(c gate.Code) int {
	switch c {
	case gate.CodeBadArgument, gate.CodeNoQueue:
		return exitUse
	case gate.CodePolicy, gate.CodeLimit, gate.CodeStopped, gate.CodeDenied, gate.CodeClaimed:
		return exitRefused
	case gate.CodeNothing:
		return exitNothing
	}
	return exitFailed
}

// lowered makes a sentence an error line: no capital, no full stop.
func lowered(s string) string {
	s = strings.TrimSuffix(s, ".")
	first, n := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[n:])
	if unicode.IsUpper(first) && !unicode.IsUpper(second) {
		return string(unicode.ToLower(first)) + s[n:]
	}
	return s
}
