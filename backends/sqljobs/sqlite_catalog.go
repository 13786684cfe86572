package sqljobs

import (
	"context"
	"strings"
)

// describe reads a table's columns and unique indexes through the PRAGMA
// functions (https://www.sqlite.org/pragma.html).
func (e *sqlite) describe(ctx context.Context, t tx, name Table) (*catalog, error) {
	table := name[len(name)-1]
	c := &catalog{}
	s := e.dialect().stmt("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND lower(name) = lower(")
	s.add(s.bind(textValue(table)), ")")
	err := t.query(ctx, s, func(row []value) error {
		c.name, c.view = row[0].String(), row[1].String() == "view"
		return nil
	})
	if err != nil || c.name == "" {
		return nil, err
	}
	if err := e.columns(ctx, t, c); err != nil {
		return nil, err
	}
	return c, e.indexes(ctx, t, c)
}

func (e *sqlite) columns(ctx context.Context, t tx, c *catalog) error {
	var keys []column
	s := e.dialect().stmt(`SELECT name, lower(type), "notnull", hidden, pk FROM pragma_table_xinfo(`)
	s.add(s.bind(textValue(c.name)), ") WHERE hidden <> 1 ORDER BY cid")
	err := t.query(ctx, s, func(row []value) error {
		col := column{name: row[0].String(), typ: row[1].String(), notNull: row[2].String() != "0", generated: row[3].String() != "0"}
		col.blob = blobAffinity(col.typ)
		if row[4].String() != "0" {
			keys = append(keys, col)
		}
		c.columns = append(c.columns, col)
		return nil
	})
	// An INTEGER PRIMARY KEY is the row id itself and has no index.
	if len(keys) == 1 && keys[0].typ == "integer" {
		c.unique = append(c.unique, []string{keys[0].name})
	}
	return err
}

func (e *sqlite) indexes(ctx context.Context, t tx, c *catalog) error {
	s := e.dialect().stmt("SELECT l.name, i.name FROM pragma_index_list(")
	s.add(s.bind(textValue(c.name)), `) l, pragma_index_info(l.name) i WHERE l."unique" = 1 AND l.partial = 0 ORDER BY l.seq, i.seqno`)
	last := ""
	return t.query(ctx, s, func(row []value) error {
		if name := row[0].String(); name != last || len(c.unique) == 0 {
			c.unique, last = append(c.unique, nil), name
		}
		at := len(c.unique) - 1
		c.unique[at] = append(c.unique[at], row[1].String())
		return nil
	})
}

// integerType and blobAffinity follow the rules of column affinity
// (https://www.sqlite.org/datatype3.html#determination_of_column_affinity).
func integerType(typ string) bool { return strings.Contains(typ, "int") }

func blobAffinity(typ string) bool {
	return typ == "" || strings.Contains(typ, "blob") && !integerType(typ)
}

// unindexed warns when a listing reads the whole table.
func (e *sqlite) unindexed(ctx context.Context, t tx, m *mapping) (warnings []string, err error) {
	page := m.page(m.rows(false), nil, headPage)
	s := e.dialect().stmt("EXPLAIN QUERY PLAN ").add(page.String())
	s.args = page.args
	sorted := false
	err = t.query(ctx, s, func(row []value) error {
		sorted = sorted || strings.Contains(row[3].String(), "TEMP B-TREE FOR ORDER BY")
		return nil
	})
	if err != nil || !sorted {
		return nil, err
	}
	create, err := e.indexToMake(ctx, t, m)
	if err != nil || create == "" {
		return nil, err
	}
	return []string{slowListing + create}, nil
}

// indexToMake is the statement for the index, under a name that no table and no
// other index has: they share one name space, whose names differ in more than
// the case of ASCII letters. It is empty where that very index exists already,
// and SQLite, which then guesses that sorting is cheaper, is left alone.
func (e *sqlite) indexToMake(ctx context.Context, t tx, m *mapping) (create string, err error) {
	want := m.cat.name + "_dead_letters"
	name := want
	for n, taken := 2, true; taken; n++ {
		taken = false
		create = m.index("CREATE INDEX " + quote(name))
		same := false
		s := e.dialect().stmt("SELECT COALESCE(sql, '') FROM sqlite_schema WHERE lower(name) = lower(")
		err = t.query(ctx, s.add(s.bind(textValue(name)), ")"), func(row []value) error {
			taken, same = true, row[0].String() == create
			return nil
		})
		if err != nil || same {
			return "", err
		}
		name = want + "_" + itoa(n)
	}
	return create, nil
}
