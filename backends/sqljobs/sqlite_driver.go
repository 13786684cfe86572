package sqljobs

import (
	"context"
	"path/filepath"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// SQLite is the driver for job tables in SQLite files.
func SQLite() backends.Driver {
	return backends.Driver{
		Kind:       "sqlite",
		NewBackend: func() any { return new(SQLiteBackend) },
		NewSource:  func() any { return new(Source) },
		Check:      checkSQLite,
		Open:       openSQLite,
	}
}

const defaultReceipts = "redrive_receipts"

func checkSQLite(c backends.Config) error {
	b, err := section[SQLiteBackend](c)
	if err != nil {
		return err
	}
	if b.File == "" {
		return faultAt("file", "name the database file, relative to the folder of the policy", "the file is missing")
	}
	if b.Receipts != nil && !b.Receipts.none() {
		if err := checkTable("receipts", b.Receipts, false); err != nil {
			return err
		}
	}
	if err := b.Jobs.check(false); err != nil {
		return err
	}
	if b.Jobs.DeadAt.Column == "" {
		return faultAt("jobs.dead_at", "name the column that holds the time of death", "SQLite has no row versions, so deaths can only be told apart by their time")
	}
	_, err = selectors(c, &b.Jobs)
	return err
}

func openSQLite(c backends.Config) (backends.Store, error) {
	if err := checkSQLite(c); err != nil {
		return nil, err
	}
	b, err := section[SQLiteBackend](c)
	if err != nil {
		return nil, err
	}
	sources, err := selectors(c, &b.Jobs)
	if err != nil {
		return nil, err
	}
	path := b.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Folder, path)
	}
	s := newStore(c.Name, &sqlite{path: path, times: b.Timeouts}, &b.Jobs, sources)
	s.receipts, s.makes = b.Receipts, true
	switch {
	case b.Receipts.none():
		s.receipts = nil
	case b.Receipts == nil:
		s.receipts = Table{defaultReceipts}
	}
	return s, nil
}

// audit warns of triggers: they run with every redrive.
func (e *sqlite) audit(ctx context.Context, t tx, p purpose, _ *Store, m *mapping) (warnings []string, err error) {
	if p == look {
		return nil, nil
	}
	s := e.dialect().stmt("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = lower(")
	s.add(s.bind(textValue(m.cat.name)), ") ORDER BY name")
	err = t.query(ctx, s, func(row []value) error {
		warnings = append(warnings, "the trigger "+row[0].String()+" runs with each redrive")
		return nil
	})
	return warnings, err
}

// mayUpdate is nil: a file has no privileges on columns.
func (e *sqlite) mayUpdate(context.Context, tx, *mapping, []string) error { return nil }

func (e *sqlite) wake(context.Context, *Notify, string) error { return nil }
