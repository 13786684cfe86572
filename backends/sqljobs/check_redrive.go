package sqljobs

import (
	"slices"
	"strings"
)

func (j *Jobs) checkRedrive(qualified bool) error {
	r := j.Redrive
	switch {
	case r.Update == nil && r.Insert == nil:
		return faultAt("jobs.redrive", "write update: {set: {…}} or insert: {into: …}", "how a job is queued again is missing")
	case r.Update != nil && r.Insert != nil:
		return faultAt("jobs.redrive", "keep one of the two", "update and insert exclude each other")
	case r.Notify != nil && r.Notify.Channel == "":
		return faultAt("jobs.redrive.notify.channel", "name the channel that workers listen to", "the channel is missing")
	case r.Notify != nil && !qualified:
		return faultAt("jobs.redrive.notify", "leave it out", "SQLite has no notifications")
	case r.Update != nil:
		return j.checkUpdate(qualified)
	}
	return j.checkInsert(qualified)
}

func (j *Jobs) checkUpdate(qualified bool) error {
	const key = "jobs.redrive.update.set"
	set := j.Redrive.Update.Set
	if len(set) == 0 {
		return faultAt(key, "set what makes a worker take the row", "nothing is set, so the row would stay dead")
	}
	for _, c := range sortedKeys(set) {
		switch {
		case c == j.Attempts || c == j.MaxAttempts:
			return faultAt(key+"."+c, "leave it out; send.attempts of a queue says reset, keep or a number", "the attempts are set by each redrive")
		case c == j.Payload.Column:
			return faultAt(key+"."+c, "leave it out; a patch changes a payload", "the payload is never set")
		}
	}
	return j.checkSet(key, set, qualified)
}

// checkSet refuses to set columns of the dead row that say which row it is.
func (j *Jobs) checkSet(key string, set map[string]Value, qualified bool) error {
	for _, c := range sortedKeys(set) {
		switch {
		case slices.Contains(j.ID, c):
			return faultAt(key+"."+c, "leave it out", "an id is never set")
		case c == j.Queue:
			return faultAt(key+"."+c, "leave it out", "the queue is never set")
		}
	}
	return checkValues(key, set, qualified)
}

func checkValues(key string, set map[string]Value, qualified bool) error {
	for _, c := range sortedKeys(set) {
		v := set[c]
		_, zoneOK := zone(v.TZ)
		_, unitOK := units[v.Unit]
		switch {
		case !validIdent(c):
			return faultAt(key, "a column's name has at most 63 bytes", "%q is no name of a column", c)
		case strings.Contains(v.SQL, ";") || v.text != nil && strings.Contains(*v.text, "\x00"):
			return faultAt(key+"."+c, "write one expression", "a value holds no semicolon and no NUL")
		case !zoneOK || v.TZ != "" && !strings.EqualFold(v.TZ, "utc") && !qualified:
			return faultAt(key+"."+c+".tz", "use utc", "%q is no time zone here", v.TZ)
		case v.Unit != "" && !unitOK:
			return faultAt(key+"."+c+".unit", "use s, ms or us", "%q is no unit", v.Unit)
		case v.Format != "" && (v.Format != "rfc3339" || qualified):
			return faultAt(key+"."+c+".format", "use rfc3339, for text in SQLite", "%q is no format of a time here", v.Format)
		}
	}
	return nil
}

func (j *Jobs) checkInsert(qualified bool) error {
	const key = "jobs.redrive.insert"
	in := j.Redrive.Insert
	if err := checkTable(key+".into", in.Into, qualified); err != nil {
		return err
	}
	switch {
	case len(in.Returning) == 0:
		return faultAt(key+".returning", "name the id column of the new row", "the new id must be known")
	case in.Delete == (len(in.Mark) > 0):
		return faultAt(key+".mark", "mark: {status: replayed}, or delete: true where the library itself deletes it", "exactly one of mark and delete is needed")
	case !in.carries(j.Payload.Column):
		return faultAt(key+".columns", "write TARGET: "+j.Payload.Column, "the payload is not carried over")
	}
	for _, c := range sortedKeys(in.Columns) {
		_, twice := in.Set[c]
		if twice || !validIdent(c) {
			return faultAt(key+".columns."+c, "a column is copied or set", "%q stands twice, or is no name of a column", c)
		}
	}
	if err := checkValues(key+".set", in.Set, qualified); err != nil {
		return err
	}
	if err := j.checkSet(key+".mark", in.Mark, qualified); err != nil {
		return err
	}
	return nil
}

func (in *Insert) carries(payload string) bool {
	for _, source := range in.Columns {
		if source == payload {
			return true
		}
	}
	return false
}
