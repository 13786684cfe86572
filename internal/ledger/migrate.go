package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// migrate brings the schema to this build's version in one transaction, an older
// one after a copy of what was there. Where there is nothing to do it takes no
// lock, so that a process that keeps the ledger locked keeps nobody from looking.
func (l *Ledger) migrate(ctx context.Context) error {
	version, err := l.version(ctx, l.write)
	switch {
	case err != nil || version == schemaVersion:
	case version == 0:
		err = l.upgrade(ctx)
	default:
		err = l.copied(ctx, func() error { return l.upgrade(ctx) })
	}
	return wrap("preparing the ledger", err)
}

func (l *Ledger) version(ctx context.Context, q queryer) (version int, err error) {
	if err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, l.locked(err)
	}
	if version > schemaVersion {
		err = fmt.Errorf("%w (schema %d, this build knows %d)", ErrNewer, version, schemaVersion)
	}
	return version, err
}

// upgrade asks for the version again: another process may have been faster.
func (l *Ledger) upgrade(ctx context.Context) error {
	return l.tx(ctx, func(t *txn) error {
		version, err := l.version(ctx, t)
		if err != nil || version == schemaVersion {
			return err
		}
		steps := []string{schema}
		if version > 0 {
			if steps, err = stepsFrom(version); err != nil {
				return err
			}
		}
		for _, step := range append(steps, "PRAGMA user_version = "+strconv.Itoa(schemaVersion)) {
			if _, err := t.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		return nil
	})
}

func stepsFrom(version int) (steps []string, err error) {
	for v := version + 1; v <= schemaVersion; v++ {
		step, err := fs.ReadFile(upgrades, fmt.Sprintf("upgrade-%d.sql", v))
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(step))
	}
	return steps, nil
}

// copied does f after a copy of the ledger is on disk, beside it. One that an
// upgrade left behind which did not come to its end is made anew.
func (l *Ledger) copied(ctx context.Context, f func() error) error {
	lock, err := l.state.Lock(ctx, "upgrade.lock", time.Minute)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	version, err := l.version(ctx, l.write)
	if err != nil || version == schemaVersion {
		return err
	}
	name := fmt.Sprintf("ledger-version-%d.db", version)
	if err := l.state.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := l.state.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer file.Close()
	path, err := l.state.CheckedPath(name)
	if err == nil {
		_, err = l.write.ExecContext(ctx, "VACUUM INTO ?", path)
	}
	// SQLite does not flush such a copy. A crash before this leaves the old
	// version in its place, so that the copy is made again.
	if err = errors.Join(err, durable.DataSync(file), l.state.SyncDir()); err != nil {
		return fmt.Errorf("copying the ledger: %w", err)
	}
	return f()
}
