package rules

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
)

// A character in brackets keeps this file from being found by its own patterns.
const (
	forbidden = `/wor[k]/|/roo[t]/|/far[m]/|bash_job[s]|prox[y]\.golang|registry\.npmj[s]|deb\.debia[n]\.|developer sessio[n]|in this sessio[n]`
	leftOpen  = `\b(TOD[O]|FIXM[E]|XX[X])\b`
)

// checkWords: the tree speaks of the project, not of the machine or the day on
// which it was written. go.sum is made by the tool.
func checkWords(all []*source) []string {
	return search(all, regexp.MustCompile(forbidden), "names a machine's path, a registry or how the work is done", func(s *source) bool {
		return path.Ext(s.path) != ".sum"
	})
}

// checkLeftOpen: code is finished; what is not built is said in the docs.
func checkLeftOpen(all []*source) []string {
	return search(all, regexp.MustCompile(leftOpen), "is left open", func(s *source) bool {
		return s.syntax != nil
	})
}

func search(all []*source, pattern *regexp.Regexp, what string, where func(*source) bool) []string {
	var faults []string
	for _, s := range all {
		if !where(s) {
			continue
		}
		for i, line := range bytes.Split(s.text, []byte("\n")) {
			if found := pattern.Find(line); found != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: %q %s", s.path, i+1, found, what))
			}
		}
	}
	return faults
}
