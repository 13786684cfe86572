package backends

import "strings"

// trace is what a stack says.
type trace struct {
	text  string // the message that stands before the frames (in Python behind them)
	frame string // the first frame that counts, "" if none does
	found bool   // there are frames at all
}

// traceOf reads a stack in the notations of Go, JavaScript, Python, Java,
// Ruby, PHP, .NET, Elixir and Rust. Frames of the language's own runtime (its
// panic machinery, its socket code) do not count: they are the same for
// unlike errors and change with the runtime's version.
func traceOf(s string) trace {
	var t trace
	var prev string
	textEnd, tailAt, at, prevAt := len(s), -1, 0, 0
	for line := range strings.Lines(s) {
		name, lang := frameIn(line, prev)
		switch {
		case lang == python:
			tailAt = 0
			if name != "" { // newest last
				t.frame = name
			}
		case lang != none && t.frame == "" && tailAt < 0:
			t.frame = name
		case lang == none && tailAt == 0 && isHeading(line):
			tailAt = at
		}
		if lang != none && !t.found {
			t.found, textEnd = true, at
			if lang == golang {
				textEnd = prevAt
			}
		}
		prev, prevAt, at = line, at, at+len(line)
	}
	t.text = heading(s[:textEnd])
	if tailAt > 0 {
		t.text = strings.TrimSpace(s[tailAt:])
	}
	return t
}

// isHeading tells a line that stands on its own from source text, which
// Python indents.
func isHeading(line string) bool {
	return strings.TrimSpace(line) != "" && line[0] != ' ' && line[0] != '\t'
}

// announcements are lines that only say that a stack follows.
var announcements = []string{
	"goroutine ", "Traceback (most recent call last)", "Stack trace:", "stack backtrace:", "[stacktrace]",
}

// heading is the text before the frames without the lines that announce them.
func heading(s string) string {
	var b []byte
	at := 0
	for line := range strings.Lines(s) {
		switch said := announces(strings.TrimSpace(line)); {
		case said && b == nil: // nothing is copied where nothing is left out
			b = append([]byte{}, s[:at]...)
		case !said && b != nil:
			b = append(b, line...)
		}
		at += len(line)
	}
	if b != nil {
		s = string(b)
	}
	return strings.TrimSpace(s)
}

func announces(line string) bool {
	if line == "" || strings.IndexByte("gTSs[", line[0]) < 0 {
		return false
	}
	for _, a := range announcements {
		if strings.HasPrefix(line, a) {
			return true
		}
	}
	return false
}
