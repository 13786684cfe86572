package sqljobs

import (
	"context"
)

// describe reads a table by its schema and name, so that no search path has a
// say in it.
func (e *postgres) describe(ctx context.Context, t tx, name Table) (*catalog, error) {
	s := e.dialect().stmt(`SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm'), c.relkind
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname = `)
	s.add(s.bind(textValue(name[0])), " AND c.relname = ", s.bind(textValue(name[len(name)-1])))
	c := &catalog{}
	err := t.query(ctx, s, func(row []value) error {
		c.oid, c.schema, c.name, c.view, c.kind = row[0].String(), row[1].String(), row[2].String(), row[3].String() == "t", row[4].String()
		return nil
	})
	if err != nil || c.oid == "" {
		return nil, err
	}
	if err := e.columns(ctx, t, c); err != nil {
		return nil, err
	}
	return c, e.indexes(ctx, t, c)
}

// columns reads the columns in their order. A domain counts as the type under
// it. An identity column GENERATED ALWAYS takes no value either.
func (e *postgres) columns(ctx context.Context, t tx, c *catalog) error {
	s := e.dialect().stmt(`SELECT a.attname, pg_catalog.format_type(COALESCE(NULLIF(y.typbasetype, 0), a.atttypid), NULL), a.attnotnull,
			a.attgenerated <> '' OR a.attidentity = 'a',
			COALESCE((SELECT a.attnum = ANY (p.partattrs::int2[]) FROM pg_catalog.pg_partitioned_table p WHERE p.partrelid = a.attrelid), false)
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
		WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = `)
	s.add(s.bind(textValue(c.oid)), " ORDER BY a.attnum")
	return t.query(ctx, s, func(row []value) error {
		col := column{name: row[0].String(), typ: row[1].String(), notNull: row[2].String() == "t",
			generated: row[3].String() == "t", partition: row[4].String() == "t"}
		col.blob = col.typ == "bytea"
		c.columns = append(c.columns, col)
		return nil
	})
}

func (e *postgres) indexes(ctx context.Context, t tx, c *catalog) error {
	s := e.dialect().stmt(`SELECT i.indexrelid, a.attname
		FROM pg_catalog.pg_index i
		CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, at)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
		WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND k.at <= i.indnkeyatts AND i.indrelid = `)
	s.add(s.bind(textValue(c.oid)), " ORDER BY i.indexrelid, k.at")
	last := ""
	return t.query(ctx, s, func(row []value) error {
		if id := row[0].String(); id != last {
			c.unique, last = append(c.unique, nil), id
		}
		at := len(c.unique) - 1
		c.unique[at] = append(c.unique[at], row[1].String())
		return nil
	})
}
