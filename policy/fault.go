package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/nearest"
)

// Fault is one thing that is wrong with a policy file. Why and Hint quote the
// operator's own words at most, and never a value that looks like a secret.
type Fault struct {
	File         string
	Line, Column int // from 1; 0: the file as a whole
	Why, Hint    string
}

// Place is "policy.yaml:12:5", and the file alone where the fault is in no line.
func (f Fault) Place() string {
	switch {
	case f.Line == 0:
		return f.File
	case f.Column == 0:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// Error is "policy.yaml:12:5: why (hint)".
func (f Fault) Error() string {
	s := f.Place() + ": " + f.Why
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// Faults is the error of Load and Parse: all that was found, by line.
type Faults struct{ All []Fault }

// Error is one fault a line.
func (f *Faults) Error() string {
	lines := make([]string, len(f.All))
	for i, fault := range f.All {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

func sortFaults(faults []Fault) []Fault {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Why, b.Why))
	})
	return slices.Compact(faults)
}

// suggest is a hint for a word that is not among those known here. Behind many
// faults nobody looks for the nearest word any more: it would take minutes.
func (d *document) suggest(word string, known []string) string {
	if len(d.faults) < 100 {
		if near := nearest.Word(word, known); near != "" {
			return fmt.Sprintf("did you mean %q?", near)
		}
	}
	if len(known) == 0 {
		return "there is none to choose from"
	}
	const most = 20
	if more := len(known) - most; more > 0 {
		return fmt.Sprintf("known here: %s and %d more", strings.Join(known[:most], ", "), more)
	}
	return "known here: " + strings.Join(known, ", ")
}

// quote shows a word of the file, or its beginning.
func quote(word string) string {
	const longest = 80
	if len(word) <= longest {
		return strconv.Quote(word)
	}
	return strconv.Quote(cut(word, longest)) + "…"
}

// cut keeps at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
