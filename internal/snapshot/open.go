package snapshot

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// FileName is the file in the state folder. Its number is that of the schema: a
// build with another schema makes another file, since the content of this one is
// not worth an upgrade, and a process of this build may have it open.
const FileName = "snapshots-1.db"

// schemaVersion is in the file too (PRAGMA user_version), 0 before it is made.
const schemaVersion = 1

//go:embed schema.sql
var schema string

const (
	openLock = "snapshots.lock"
	lockWait = 5 * time.Second // for another process; ordinary calls hold the file for milliseconds
)

// DB is the open file. Its methods may be called by several goroutines, and
// several processes may have the file open. Errors are *backends.Error where
// there is something to do about them.
type DB struct {
	write *sql.DB // one connection: SQLite has one writer anyway
	read  *sql.DB
	clock func() time.Time
	state *durable.Folder
	keep  atomic.Int64 // nanoseconds
}

var _ backends.Snapshots = (*DB)(nil)

// Open opens the file of a state folder and makes it if it is missing. keep is
// how long a letter is kept after it was last seen. The folder stays the caller's
// and is closed after the DB.
func Open(ctx context.Context, folder *durable.Folder, clock func() time.Time, keep time.Duration) (*DB, error) {
	d := &DB{clock: clock, state: folder}
	d.SetKeep(keep)
	path, fresh, err := prepare(folder)
	if err == nil {
		d.write, err = connect(path, 1, vacuum(fresh), "&_pragma=cache_size(-8192)")
	}
	if err != nil {
		return nil, d.trouble("opening the letters that were seen", err)
	}
	if err = d.make(ctx, fresh); err == nil {
		d.read, err = connect(path, 4, "", "&_pragma=cache_size(-2048)&_pragma=query_only(1)")
	}
	if err != nil {
		d.write.Close()
		return nil, d.trouble("opening the letters that were seen", err)
	}
	return d, nil
}

// SetKeep changes how long letters are kept.
func (d *DB) SetKeep(keep time.Duration) { d.keep.Store(int64(keep)) }

// Close closes the file. Passes are closed before.
func (d *DB) Close() error { return errors.Join(d.read.Close(), d.write.Close()) }

// prepare makes the file itself, because SQLite would make it readable by others.
// SQLite gives its own side files the mode of this one. fresh reports that nothing
// is in the file yet.
func prepare(folder *durable.Folder) (path string, fresh bool, err error) {
	f, err := folder.OpenFile(FileName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return "", false, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return "", false, fmt.Errorf("opening %s: %w", FileName, err)
	}
	for _, side := range []string{"-wal", "-shm", "-journal"} {
		if _, err := folder.CheckedPath(FileName + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", false, err
		}
	}
	path, err = folder.CheckedPath(FileName)
	return path, info.Size() == 0, err
}

// connect opens a pool. synchronous=NORMAL flushes before and after the file is
// brought up to date from its log and not at each commit: after a power loss the
// file is whole and may lack the newest commits.
func connect(path string, conns int, before, after string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_txlock=immediate&_pragma=busy_timeout("+strconv.FormatInt(lockWait.Milliseconds(), 10)+")"+before+"&_pragma=journal_mode(WAL)"+
		"&_pragma=synchronous(NORMAL)&_pragma=wal_autocheckpoint(2000)&_pragma=journal_size_limit(16777216)"+
		"&_pragma=temp_store(MEMORY)&_pragma=cell_size_check(1)"+after)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", FileName, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// vacuum lets room be given back. It has to come before anything is in the file,
// and would write into one that is not new.
func vacuum(fresh bool) string {
	if fresh {
		return "&_pragma=auto_vacuum(2)"
	}
	return ""
}

// make puts the schema into a new file. It does so under a lock, because SQLite
// refuses at once who would wait while another process turns the file over to
// WAL. Where there is nothing to do it takes no lock; what looks wrong without it
// may be a file that is being made.
func (d *DB) make(ctx context.Context, fresh bool) error {
	if !fresh {
		if version, err := d.version(ctx, d.write); err == nil && version == schemaVersion {
			return nil
		}
	}
	lock, err := d.state.Lock(ctx, openLock, lockWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return d.tx(ctx, func(t *sql.Tx) error {
		version, err := d.version(ctx, t)
		if err != nil || version == schemaVersion {
			return err
		}
		_, err = t.Exec(schema + "PRAGMA user_version = " + strconv.Itoa(schemaVersion))
		return err
	})
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (d *DB) version(ctx context.Context, q queryer) (version int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if err == nil && version != 0 && version != schemaVersion {
		err = damaged("its schema is %d, not %d", version, schemaVersion)
	}
	return version, err
}

func (d *DB) path() string { return filepath.Join(d.state.Path(), FileName) }
