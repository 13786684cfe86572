package cli

import "strings"

// printDiff colours the lines of a diff; without colour its signs say the same.
func (a *app) printDiff(diff string) {
	for line := range strings.SplitSeq(block(diff), "\n") {
		s := plain
		switch {
		case strings.HasPrefix(line, "-"):
			s = red
		case strings.HasPrefix(line, "+"):
			s = green
		}
		a.printf("%s\n", a.onOut(s, line))
	}
}
