package cli

import (
	"fmt"
	"strings"
)

// forPeople puts the gate's advice, which is written for an agent, into what a
// person types: commands for tools, and flags for arguments.
func forPeople(s string) string {
	pairs := []string{
		"Ask a person to run ", "Run ",
		"Look and propose, but ask a person before you request again", "`resume` lets them run again, once it is safe",
		"get_redrive without an id", "`pending`",
		"list_queues", "`queues`",
		"group_dead_letters", "`letters --groups`",
		"list_dead_letters", "`letters`",
		"inspect_dead_letter", "`letters --id`",
		"propose_patch", "`redrive --patch`",
		"request_redrive", "`redrive`",
		"get_redrive", "`show`",
		"cancel_redrive", "`cancel`",
		"`request_id`", "the request's ID",
		"give `fix` with `ref` (a deploy, a ticket) and `at`", "give --fix REF (a deploy, a ticket) and --fix-at T",
	}
	for _, a := range flagOfArgument {
		pairs = append(pairs, "`"+a[0]+"`", "--"+a[1])
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// flagOfArgument says which flag gives an argument of a tool.
var flagOfArgument = [][2]string{
	{"as_of", "as-of"},
	{"cursor", "cursor"},
	{"filter.error_class", "class"},
	{"filter.error_contains", "contains"},
	{"filter.group", "group"},
	{"filter.job", "job"},
	{"filter.min_attempts", "min-attempts"},
	{"filter.since", "since"},
	{"filter.until", "until"},
	{"fix", "fix"},
	{"fix.at", "fix-at"},
	{"fix.ref", "fix"},
	{"group", "group"},
	{"id", "id"},
	{"ids", "ids"},
	{"limit", "limit"},
	{"max_messages", "max"},
	{"merge_patch", "merge-patch"},
	{"note", "note"},
	{"offset", "offset"},
	{"patch", "patch"},
	{"reason", "reason"},
	{"replace", "replace"},
	{"replace_body", "body"},
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
