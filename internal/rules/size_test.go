package rules

import (
	"fmt"
	"go/ast"
	"slices"
)

const (
	maxFile     = 700 // lines
	maxFunction = 120 // lines, but for tests: a table of cases is long and simple
	maxMedian   = 170 // lines of the median file that is no test
)

// checkSizes: a file is one room that fits in the head, and so is a function.
func checkSizes(all []*source) []string {
	var faults []string
	for _, s := range golang(all) {
		if s.lines() > maxFile {
			faults = append(faults, fmt.Sprintf("%s: %d lines, more than %d", s.path, s.lines(), maxFile))
		}
		for _, decl := range s.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || s.isTest() {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFunction {
				faults = append(faults, s.fault(f.Pos(), "%s has %d lines, more than %d", f.Name.Name, n, maxFunction))
			}
		}
	}
	if m := median(all); m > maxMedian {
		faults = append(faults, fmt.Sprintf("the median file has %d lines, more than %d", m, maxMedian))
	}
	return faults
}

// median is that of the lines of files that are no tests.
func median(all []*source) int {
	var sizes []int
	for _, s := range golang(all) {
		if !s.isTest() {
			sizes = append(sizes, s.lines())
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// checkComments: every package says what it guarantees and what not.
func checkComments(all []*source) []string {
	first := map[string]*source{}
	documented := map[string]bool{}
	for _, s := range golang(all) {
		if first[s.dir()] == nil {
			first[s.dir()] = s
		}
		documented[s.dir()] = documented[s.dir()] || s.syntax.Doc != nil
	}
	var faults []string
	for dir, s := range first {
		if !documented[dir] {
			faults = append(faults, s.fault(s.syntax.Package, "package %s has no package comment", s.syntax.Name.Name))
		}
	}
	slices.Sort(faults)
	return faults
}
