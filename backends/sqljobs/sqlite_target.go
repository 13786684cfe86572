package sqljobs

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// target names a file by its real path and its number in the file system:
// another file under the same path is another target.
func (e *sqlite) target(ctx context.Context, m *mapping) (backends.Target, error) {
	real, err := filepath.EvalSymlinks(e.path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return backends.Target{}, backends.Errorf(backends.Unreachable, err, "the database file cannot be found")
	}
	file, ok := m.home.(*sqliteFile)
	if !ok || !file.at(real) {
		return backends.Target{}, errReplaced()
	}
	if linked(file.info) {
		return backends.Target{}, backends.Errorf(backends.BadMapping, nil, "the database file has a second hard link, and by that name other rules could hold for the same letters").
			WithHint("remove the other name: find its folder with find -inum")
	}
	place := real + fileNumber(file.info) + "/"
	target := backends.Target{Store: "sqlite", Place: place + m.cat.name, Selector: m.selector, Split: m.jobs.Queue, Via: "file"}
	if m.cat.view {
		under, err := e.under(ctx, m)
		if err != nil {
			return target, err
		}
		for _, table := range under {
			target.Holds = append(target.Holds, place+table)
		}
	}
	return target, nil
}

// under are the tables under a view. No catalog of SQLite has them, but the
// program of a statement opens each by its root page
// (https://www.sqlite.org/opcode.html). What a virtual table reads is not seen.
func (e *sqlite) under(ctx context.Context, m *mapping) (tables []string, err error) {
	t, err := e.begin(ctx, look)
	if err != nil {
		return nil, err
	}
	defer t.rollback()
	if t.home() != m.home {
		return nil, errReplaced()
	}
	roots := map[string]string{} // root page of a table or of an index -> the table
	err = t.query(ctx, e.dialect().stmt("SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0"), func(row []value) error {
		roots[row[0].String()] = row[1].String()
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = t.query(ctx, e.dialect().stmt("EXPLAIN SELECT * FROM "+m.table()), func(row []value) error {
		// addr, opcode, p1, p2 (the page), p3 (the database, 0 is the file itself) …
		if row[1].String() == "OpenRead" && row[4].String() == "0" {
			tables = append(tables, roots[row[3].String()])
		}
		return nil
	})
	slices.Sort(tables)
	return slices.Compact(tables), err
}

// lag is nothing: a file is read as it is.
func (e *sqlite) lag(context.Context, tx) (time.Duration, error) { return 0, nil }
