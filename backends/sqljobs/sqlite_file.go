package sqljobs

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite" of database/sql

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// sqliteFile is one file with the handles that were opened on it. A handle
// keeps its file when another is put at the path, so each file has handles of
// its own. A file that a handle is open on keeps its number in the file
// system, so no other file can be taken for it.
//
// The file is never opened beside SQLite: closing it would drop the locks that
// SQLite holds on it in this process (https://www.sqlite.org/howtocorrupt.html).
type sqliteFile struct {
	info fs.FileInfo
	dbs  [2]*sql.DB // by purpose; they connect at the first use
}

// at reports whether a path leads to the file.
func (f *sqliteFile) at(path string) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, f.info)
}

func (f *sqliteFile) close() error {
	if f == nil {
		return nil
	}
	return errors.Join(f.dbs[look].Close(), f.dbs[send].Close())
}

func (e *sqlite) home() (any, error) { return e.current() }

func (e *sqlite) moved(purpose) error { return errReplaced() }

// errReplaced ends what was begun on a database that is not there any more.
// Nothing of it was committed.
func errReplaced() error {
	return backends.Errorf(backends.Changed, nil, "the database file was replaced by another while it was open").
		WithHint("look at the queue again: its letters are those of the new file now")
}

// current is the file that the path leads to now. The handles of another file
// are closed; a transaction on one of them can still be rolled back.
func (e *sqlite) current() (*sqliteFile, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	info, err := os.Stat(e.path)
	if err != nil {
		return nil, backends.Errorf(backends.Unreachable, err, "the database file cannot be opened").
			WithHint("check the file's path and its permissions")
	}
	if e.file != nil && os.SameFile(info, e.file.info) {
		return e.file, nil
	}
	next := &sqliteFile{info: info}
	for p := range next.dbs {
		if next.dbs[p], err = sql.Open("sqlite", e.dsn(purpose(p))); err != nil {
			return nil, backends.Errorf(backends.Unreachable, err, "the database file cannot be opened")
		}
	}
	// A handle that does not close well was of no use any more.
	_ = e.file.close()
	e.file = next
	return next, nil
}

// dsn spells a handle. query_only keeps the one for looking from writing
// whatever statement reached it. _dqs takes back that a quoted name which no
// column has is read as a text (https://www.sqlite.org/quirks.html#dblquote): a
// column that is gone must be an error.
func (e *sqlite) dsn(p purpose) string {
	params := url.Values{"mode": {"rw"}, "_dqs": {"0"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", e.times.lock().Milliseconds()),
		"foreign_keys(1)",
		fmt.Sprintf("query_only(%d)", 1-int(p)),
	}}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(e.path), RawQuery: params.Encode()}
	return u.String()
}
