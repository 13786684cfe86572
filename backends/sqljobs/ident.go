package sqljobs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIdent is NAMEDATALEN-1 of PostgreSQL: longer names are cut there, and
// would silently mean another column.
const maxIdent = 63

// validIdent reports whether a name can be quoted without changing it.
func validIdent(s string) bool {
	if s == "" || len(s) > maxIdent || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, unicode.IsControl) < 0
}

// quote makes an identifier of a name, in the spelling that SQL-92 gives it.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return out
}

// sql is the table's quoted name.
func (t Table) sql() string { return strings.Join(quoteAll(t), ".") }

// literal makes a string constant. It relies on standard_conforming_strings,
// which every transaction sets.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
