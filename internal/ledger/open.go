package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// FileName is the ledger's file in the state folder.
const FileName = "ledger.db"

// schemaVersion is what this build reads and writes (PRAGMA user_version).
const schemaVersion = 3

//go:embed schema.sql
var schema string

//go:embed upgrade-*.sql
var upgrades embed.FS // upgrade-N.sql leads from version N-1 to N

// Clock tells the time. Tests give their own.
type Clock func() time.Time

// Ledger is one open ledger. Its methods may be called by several goroutines,
// and several processes may have the same file open.
type Ledger struct {
	write *sql.DB // one connection: SQLite has one writer anyway
	read  *sql.DB
	clock Clock
	state *durable.Folder
	wait  time.Duration // for a lock of another process
}

// lockWait is how long a call waits for another process. Ordinary ones hold the
// ledger for milliseconds.
const lockWait = 5 * time.Second

// ErrNewer means that a newer build wrote the file.
var ErrNewer = errors.New("the ledger was written by a newer version of redrive-mcp")

// Open opens the ledger of a state folder and makes it if it is missing.
func Open(ctx context.Context, folder *durable.Folder, clock Clock) (l *Ledger, err error) {
	return open(ctx, folder, clock, lockWait)
}

func open(ctx context.Context, folder *durable.Folder, clock Clock, wait time.Duration) (l *Ledger, err error) {
	path, fresh, err := prepare(folder)
	if err != nil {
		return nil, err
	}
	l = &Ledger{clock: clock, state: folder, wait: wait}
	if l.write, err = connect(path, 1, wait, ""); err != nil {
		return nil, err
	}
	if err = l.migrate(ctx, fresh); err != nil {
		l.write.Close()
		return nil, err
	}
	if l.read, err = connect(path, 4, wait, "&_pragma=query_only(1)"); err != nil {
		l.write.Close()
		return nil, err
	}
	return l, nil
}

// prepare makes the file itself, because SQLite would make it readable by others.
// SQLite gives its own side files (-wal, -shm) the mode of this one. fresh reports
// that nothing is in the file yet.
func prepare(folder *durable.Folder) (path string, fresh bool, err error) {
	f, err := folder.OpenFile(FileName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return "", false, fmt.Errorf("opening the ledger: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return "", false, fmt.Errorf("opening the ledger: %w", err)
	}
	for _, side := range []string{FileName + "-wal", FileName + "-shm", FileName + "-journal"} {
		if _, err := folder.CheckedPath(side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", false, fmt.Errorf("opening the ledger: %w", err)
		}
	}
	path, err = folder.CheckedPath(FileName)
	return path, info.Size() == 0, err
}

// connect opens a pool. synchronous=FULL makes every commit survive a power
// loss in WAL mode; without it the newest commits could be gone, and with them
// intents whose effects are not. What undoes a statement is kept in memory, the
// cache holds a plan of 10,000 letters, and the file is brought up to date after
// 16 MB of changes, not in the middle of most runs.
func connect(path string, conns int, wait time.Duration, extra string) (*sql.DB, error) {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_txlock=immediate&_pragma=busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")&_pragma=journal_mode(WAL)" +
		"&_pragma=wal_autocheckpoint(4000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-8192)" + extra
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Close closes the file.
func (l *Ledger) Close() error {
	return errors.Join(l.read.Close(), l.write.Close())
}
