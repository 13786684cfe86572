// Package nearest finds the known word that somebody probably meant.
//
// Guarantee: an answer is one of the known words, at most two slips away from
// the word that was written: a letter too many, too few or another one. Case,
// _ and - are no slips. The same words always give the same answer.
//
// Limit: it compares bytes, and no words longer than 64: nobody mistypes those
// into something close.
package nearest

import "strings"

const (
	longest = 64 // bytes of a word
	slips   = 2
)

// Word is the known word that is nearest to word, the first of several, and ""
// where none is near. A known word of three letters or fewer allows one slip:
// with two, most short words would be near.
func Word(word string, known []string) string {
	best, least := "", slips+1
	if len(word) > longest {
		return ""
	}
	meant := plain(word)
	for _, k := range known {
		if len(k) > longest {
			continue
		}
		if d := distance(meant, plain(k)); d < least && d <= len(k)/2 {
			best, least = k, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			step := diagonal
			if a[i] != b[j] {
				step++
			}
			diagonal = row[j+1]
			row[j+1] = min(step, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
