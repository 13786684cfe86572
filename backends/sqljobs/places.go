package sqljobs

import (
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// places says in which columns the five facts are.
func (j *Jobs) places() []backends.Place {
	return []backends.Place{
		{Fact: "dead", Where: "rows of " + j.Table.String() + " where " + j.Dead.sql()},
		{Fact: "reason", Where: columns(j.Error.Column)},
		{Fact: "payload", Where: columns(j.Payload.Column) + ", as the table holds it now"},
		{Fact: "attempts", Where: columns(j.Attempts, j.MaxAttempts)},
		{Fact: "times", Where: columns(j.EnqueuedAt.Column, j.LastAttemptAt.Column, j.DeadAt.Column)},
		{Fact: "origin", Where: columns(j.Queue, j.Job.Column, j.Group)},
	}
}

// columns lists the columns that the policy maps.
func columns(names ...string) string {
	var set []string
	for _, n := range names {
		if n != "" {
			set = append(set, n)
		}
	}
	switch len(set) {
	case 0:
		return "not kept"
	case 1:
		return "column " + set[0]
	}
	return "columns " + strings.Join(set, ", ")
}
