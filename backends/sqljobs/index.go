package sqljobs

import "strings"

// slowListing stands before the statement that makes an index.
const slowListing = "a listing reads all dead rows; to avoid it: "

// index is the statement that makes the index of a listing. It starts with how
// the database makes one, and with its name where it needs one.
func (m *mapping) index(create string) string {
	cols := quoteAll(m.order())
	for i := range cols {
		cols[i] += " DESC"
	}
	if m.jobs.Queue != "" {
		cols = append([]string{quote(m.jobs.Queue)}, cols...)
	}
	s := create + " ON " + m.table() + " (" + strings.Join(cols, ", ") + ")"
	if where := m.indexable(); where != "" {
		s += " WHERE " + where
	}
	return s
}

// indexable is the part of the predicate that an index may have as its own.
// Both databases refuse functions there whose answers change, and cannot be
// asked before; so a condition of the policy is used only where it calls none.
func (m *mapping) indexable() string {
	var parts []string
	if w := m.jobs.Dead.Where; w == "" || constant(w) {
		parts = append(parts, m.jobs.Dead.sql())
	}
	if c, ok := m.cat.column(m.jobs.DeadAt.Column); ok && !c.notNull {
		parts = append(parts, quote(c.name)+" IS NOT NULL")
	}
	return strings.Join(parts, " AND ")
}

// constant reports that a condition surely gives a row the same answer at all
// times: it has no call, no cast and none of the words that stand for now.
func constant(where string) bool {
	rest := strings.ToLower(where)
	for _, list := range []string{" in (", " in("} {
		rest = strings.ReplaceAll(rest, list, " ")
	}
	for _, sign := range []string{"(", "::", "current_", "localtime", "date ", "time ", "interval", "timestamp", "collate"} {
		if strings.Contains(rest, sign) {
			return false
		}
	}
	return true
}
