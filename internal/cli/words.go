package cli

import (
	"fmt"
	"strings"
)

// forPeople puts the gate's advice, which is written for an agent, into what a
// person types.
func forPeople(s string) string {
	return strings.NewReplacer(
		"Ask a person to run ", "Run ",
		"list_queues", "`queues`",
		"group_dead_letters", "`letters --groups`",
		"list_dead_letters", "`letters`",
		"inspect_dead_letter", "`letters --id`",
		"propose_patch", "`redrive --patch`",
		"request_redrive", "`redrive`",
		"get_redrive", "`show`",
		"cancel_redrive", "`cancel`",
	).Replace(s)
}

// word is an argument as one would type it into a POSIX shell.
func word(s string) string {
	s = oneLine(s)
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// labels takes the rows "[1] label" of a listing out of its fence: a table says
// well enough what is the store's. Each is one line, so none can pose as another.
func labels(text string, rows int) []string {
	out := make([]string, rows)
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if n == rows {
			break
		}
		if label, ok := strings.CutPrefix(line, fmt.Sprintf("[%d] ", n+1)); ok {
			out[n] = label
			n++
		}
	}
	return out
}
