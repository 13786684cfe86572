package sqljobs

import (
	"context"
	"path/filepath"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// SQLite is the driver for job tables in SQLite files.
func SQLite() backends.Driver {
	n := new(neighbours)
	return backends.Driver{
		Kind:       "sqlite",
		NewBackend: func() any { return new(SQLiteBackend) },
		NewSource:  func() any { return new(Source) },
		Check:      checkSQLite,
		Open:       func(c backends.Config) (backends.Store, error) { return openSQLite(c, n) },
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

func openSQLite(c backends.Config, n *neighbours) (backends.Store, error) {
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
	s := newStore(c.Name, &sqlite{path: path, times: b.Timeouts}, &b.Jobs, sources, n)
	s.receipts, s.makes = b.Receipts, true
	switch {
	case b.Receipts.none():
		s.receipts = nil
	case b.Receipts == nil:
		s.receipts = Table{defaultReceipts}
	}
	s.identity = func(_ context.Context, m *mapping) (backends.Target, error) { return sqliteTarget(path, m) }
	return s, nil
}

// sqliteTarget names a file by its real path and its number in the file
// system: another file under the same path is another target.
func sqliteTarget(path string, m *mapping) (backends.Target, error) {
	real, err := filepath.EvalSymlinks(path)
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
	return backends.Target{Store: "sqlite", Place: real + fileNumber(file.info) + "/" + m.cat.name, Selector: m.selector, Split: m.jobs.Queue, Via: "file"}, nil
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
