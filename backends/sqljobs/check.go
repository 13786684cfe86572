package sqljobs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// faultAt makes the error of one key.
func faultAt(key, hint, why string, args ...any) *backends.ConfigError {
	return &backends.ConfigError{Key: key, Why: fmt.Sprintf(why, args...), Hint: hint}
}

// check finds what is wrong with a mapping without a database. qualified says
// that tables need a schema.
func (j *Jobs) check(qualified bool) error {
	checks := []func(bool) error{j.checkTable, j.checkNames, j.checkDead, j.checkTimes, j.checkError, j.checkRedrive}
	for _, check := range checks {
		if err := check(qualified); err != nil {
			return err
		}
	}
	return nil
}

func (j *Jobs) checkTable(qualified bool) error {
	if err := checkTable("jobs.table", j.Table, qualified); err != nil {
		return err
	}
	switch {
	case len(j.ID) == 0:
		return faultAt("jobs.id", "name the column, or the columns, of the primary key", "the id is missing")
	case j.Payload.Column == "":
		return faultAt("jobs.payload", "name the column that holds the job's arguments", "the payload is missing")
	case j.Job.Column != "" && j.Job.Value != "":
		return faultAt("jobs.job", "keep one of the two", "column and value exclude each other")
	case !slices.Contains([]string{"", formatJSON, formatText, formatBytes}, j.Payload.Format):
		return faultAt("jobs.payload.format", "use json, text or bytes", "%q is no format of a payload", j.Payload.Format)
	}
	return nil
}

func checkTable(key string, t Table, qualified bool) error {
	want, hint := 1, "write the table's name alone"
	if qualified {
		want, hint = 2, "write schema.table, as in public.jobs: the search path must not decide"
	}
	if len(t) == 0 {
		return faultAt(key, hint, "the table is missing")
	}
	if len(t) != want {
		return faultAt(key, hint, "%q has %d parts", t.String(), len(t))
	}
	for _, part := range t {
		if !validIdent(part) || strings.Contains(part, `"`) {
			return faultAt(key, "a name with a dot is written as a list of its parts, without quotes", "%q is no name of a table", t.String())
		}
	}
	return nil
}

func (j *Jobs) checkNames(bool) error {
	for _, c := range j.mapped() {
		if c != "" && !validIdent(c) {
			return faultAt("jobs", "a column's name has at most 63 bytes", "%q is no name of a column", c)
		}
	}
	return nil
}

func (j *Jobs) checkDead(bool) error {
	byColumn := j.Dead.Column != "" || len(j.Dead.In) > 0
	switch {
	case byColumn == (j.Dead.Where != ""):
		return faultAt("jobs.dead", `write {column: status, in: [failed]} or {where: "failed_at IS NOT NULL"}`, "exactly one of column and where is needed")
	case byColumn && (j.Dead.Column == "" || len(j.Dead.In) == 0):
		return faultAt("jobs.dead", "write {column: status, in: [failed]}", "a column and its values of dead rows are both needed")
	case strings.Contains(j.Dead.Where, ";"):
		return faultAt("jobs.dead.where", "write one condition", "a condition holds no semicolon")
	}
	for _, v := range j.Dead.In {
		if v.text == nil && v.plain == "" {
			return faultAt("jobs.dead.in", "use where for anything else", "values of dead rows are scalars")
		}
	}
	return nil
}

func (j *Jobs) checkTimes(bool) error {
	times := j.times()
	for _, key := range sortedKeys(times) {
		t := times[key]
		if _, ok := zone(t.TZ); !ok {
			return faultAt(key+".tz", "use utc or a name such as Europe/Berlin", "%q is no time zone", t.TZ)
		}
		if _, ok := units[t.Unit]; t.Unit != "" && !ok {
			return faultAt(key+".unit", "use s, ms or us", "%q is no unit", t.Unit)
		}
		if t.Column == "" && (t.TZ != "" || t.Unit != "") {
			return faultAt(key+".column", "name the column", "the column is missing")
		}
	}
	if j.ExpiresAfter > 0 && j.DeadAt.Column == "" {
		return faultAt("jobs.expires_after", "map jobs.dead_at too", "without a time of death nothing is known to expire")
	}
	return nil
}

func (j *Jobs) checkError(bool) error {
	e := j.Error
	switch {
	case !slices.Contains([]string{"", formatText, formatJSON, formatJSONs, formatTexts}, e.Format):
		return faultAt("jobs.error.format", "use text, json, jsonb_array or text_array", "%q is no format of an error", e.Format)
	case !slices.Contains([]string{"", "first", "last"}, e.Pick):
		return faultAt("jobs.error.pick", "use first or last", "%q picks nothing", e.Pick)
	case e.Column == "" && (e.Format != "" || len(e.Path)+len(e.Code)+len(e.Stack) > 0):
		return faultAt("jobs.error.column", "name the column", "the column is missing")
	}
	return nil
}
