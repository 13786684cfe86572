package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a policy file. Why and Hint quote the
// operator's own words at most, and never a value that may be a secret.
type Fault struct {
	File         string
	Line, Column int // from 1; 0: the file as a whole
	Why, Hint    string
}

// Error is "policy.yaml:12: why (hint)".
func (f Fault) Error() string {
	s := f.File
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	s += ": " + f.Why
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

// suggest is a hint for a word that is not among those known here.
func suggest(word string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(word, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return "there is none to choose from"
	}
	return "known here: " + strings.Join(known, ", ")
}

// distance is the Levenshtein distance in bytes. Long words are not compared:
// nobody mistypes them into something close, and the table would be large.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			step := diagonal
			if a[i] != b[j] {
				step++
			}
			row[j+1] = min(above+1, row[j]+1, step)
			diagonal = above
		}
	}
	return row[len(b)]
}
