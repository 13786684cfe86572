package sqljobs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// rows starts a SELECT of all columns of the dead letters of the queue. Behind
// the columns stand the payload's size (only without bodies) and, where it is
// the Mark, the version of the row.
func (m *mapping) rows(bodies bool) *stmt {
	s := m.d.stmt("SELECT ")
	size := "NULL"
	for _, c := range m.cat.columns {
		expr := m.d.read(c, m.pickOf(c))
		if c.name == m.jobs.Payload.Column && !bodies {
			size, expr = m.d.size(c), "NULL"
		}
		s.add(expr, ", ")
		s.blobs = append(s.blobs, c.blob && expr != "NULL")
	}
	s.add(size)
	s.blobs = append(s.blobs, false)
	if m.xmin {
		s.add(", xmin")
		s.blobs = append(s.blobs, false)
	}
	return m.where(s.add(" FROM ", m.table()))
}

func (m *mapping) pickOf(c column) string {
	if c.name != m.jobs.Error.Column || !strings.HasSuffix(c.typ, "[]") {
		return ""
	}
	return orText(m.jobs.Error.Pick, "last")
}

func orText(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// table is the table under the name that the catalog gave, so that a change of
// the search path leads nowhere else.
func (m *mapping) table() string {
	if m.cat.schema == "" {
		return quote(m.cat.name)
	}
	return quote(m.cat.schema) + "." + quote(m.cat.name)
}

// where limits a statement to the dead letters of the queue. The predicate is
// a literal: with a parameter in it a generic plan could not use a partial
// index.
func (m *mapping) where(s *stmt) *stmt {
	s.add(" WHERE ", m.dead())
	if m.jobs.Queue != "" {
		s.add(" AND ", quote(m.jobs.Queue), " = ", s.bind(textValue(m.selector)))
	}
	return s
}

// dead is the predicate of a dead letter. A row without a time of death has no
// place in the order of a scan.
func (m *mapping) dead() string {
	p := m.jobs.Dead.sql()
	if c, ok := m.cat.column(m.jobs.DeadAt.Column); ok && !c.notNull {
		p += " AND " + quote(c.name) + " IS NOT NULL"
	}
	return p
}

func (d Dead) sql() string {
	if d.Where != "" {
		return "(" + d.Where + ")"
	}
	values := make([]string, len(d.In))
	for i, v := range d.In {
		values[i] = v.literal()
	}
	if len(values) == 1 {
		return quote(d.Column) + " = " + values[0]
	}
	return quote(d.Column) + " IN (" + strings.Join(values, ", ") + ")"
}

// literal spells a scalar.
func (v Value) literal() string {
	switch {
	case v.text != nil:
		return literal(*v.text)
	case v.plain != "":
		return v.plain
	}
	return "NULL"
}

// expr spells a value for a column.
func (m *mapping) expr(c column, v Value) string {
	switch {
	case v.Now:
		return m.d.nowIn(c, v)
	case v.SQL != "":
		return "(" + v.SQL + ")"
	}
	return v.literal()
}

// having limits a statement to some ids. A parameter takes the type of its
// column, so that an index on the column is used. A list as one parameter is read
// by the database in a fraction of the time of many.
func (m *mapping) having(s *stmt, ids [][]value) *stmt {
	cols := quoteAll(m.jobs.ID)
	if len(cols) == 1 && m.d.list != nil && len(ids) > 1 {
		return s.add(" AND ", cols[0], " = ANY (", s.bind(m.d.list(ids)), ")")
	}
	if len(cols) == 1 {
		params := make([]string, len(ids))
		for i, id := range ids {
			params[i] = s.bind(id[0])
		}
		return s.add(" AND ", cols[0], " IN (", strings.Join(params, ", "), ")")
	}
	ors := make([]string, len(ids))
	for i, id := range ids {
		ands := make([]string, len(cols))
		for k, c := range cols {
			ands[k] = c + " = " + s.bind(id[k])
		}
		ors[i] = strings.Join(ands, " AND ")
	}
	return s.add(" AND (", strings.Join(ors, " OR "), ")")
}

// page orders a scan and starts it behind a position. A row comparison walks
// an index; the same written with OR filters every row before it.
func (m *mapping) page(s *stmt, after []value, limit int) *stmt {
	cols := quoteAll(m.order())
	if after != nil {
		s.add(" AND (", strings.Join(cols, ", "), ") < (", strings.Join(s.bindAll(after), ", "), ")")
	}
	return s.add(" ORDER BY ", strings.Join(cols, " DESC, "), " DESC LIMIT ", fmt.Sprint(limit))
}

func (m *mapping) order() []string {
	if m.xmin {
		return slices.Clone(m.jobs.ID)
	}
	return append([]string{m.jobs.DeadAt.Column}, m.jobs.ID...)
}

// assign spells the SET list of a redrive by update for one order.
func (m *mapping) assign(s *stmt, attempts string, body *value) error {
	var sets []string
	change := m.jobs.Redrive.changes()
	for _, name := range sortedKeys(change) {
		c, _ := m.cat.column(name)
		sets = append(sets, quote(name)+" = "+m.expr(c, change[name]))
	}
	if m.jobs.Redrive.Update != nil {
		budget, err := m.jobs.budget(attempts)
		if err != nil {
			return err
		}
		sets = append(sets, budget...)
		if body != nil {
			sets = append(sets, quote(m.jobs.Payload.Column)+" = "+s.bind(*body))
		}
	}
	s.add(strings.Join(sets, ", "))
	return nil
}

// budget spells how many tries an order gives. A number raises the limit above
// the attempts made, so that the count of attempts stays true.
func (j *Jobs) budget(attempts string) ([]string, error) {
	made, limit := quote(j.Attempts), quote(j.MaxAttempts)
	switch {
	case attempts == "keep":
		return nil, nil
	case attempts == "reset" || attempts == "":
		if j.Attempts == "" {
			return nil, nil
		}
		return []string{made + " = 0"}, nil
	case !isCount(attempts):
		return nil, backends.Errorf(backends.BadMapping, nil, "%q is no number of attempts", attempts)
	case j.Attempts == "" || j.MaxAttempts == "":
		return nil, backends.Errorf(backends.BadMapping, nil, "a number of attempts needs a column for the attempts made and one for their limit").
			WithHint("map jobs.attempts and jobs.max_attempts, or use reset or keep")
	}
	return []string{limit + " = COALESCE(" + made + ", 0) + " + attempts}, nil
}

// isCount accepts 1 to 9999 as digits.
func isCount(s string) bool {
	return len(s) >= 1 && len(s) <= 4 && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
