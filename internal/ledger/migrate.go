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
func (l *Ledger) migrate(ctx context.Context, fresh bool) error {
	if !fresh {
		version, err := l.version(ctx, l.write)
		if err != nil || version == schemaVersion {
			return wrap("preparing the ledger", err)
		}
	}
	return wrap("preparing the ledger", l.prepared(ctx))
}

// prepared does so under a lock of its own. A new file is opened under it for the
// first time: SQLite refuses at once who would wait while another process turns
// the file over to WAL, because both could wait for each other.
func (l *Ledger) prepared(ctx context.Context) error {
	lock, err := l.state.Lock(ctx, "upgrade.lock", upgradeWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	version, err := l.version(ctx, l.write)
	if err != nil || version == schemaVersion {
		return err
	}
	if version > 0 {
		if err := l.copied(ctx, version); err != nil {
			return fmt.Errorf("copying the ledger: %w", err)
		}
	}
	return l.upgrade(ctx)
}

// upgradeWait is how long an upgrade by another process is waited for. It copies
// the ledger.
const upgradeWait = time.Minute

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

// copied puts a copy of the ledger on disk, beside it. One that an upgrade left
// behind which did not come to its end is made anew.
func (l *Ledger) copied(ctx context.Context, version int) error {
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
	return errors.Join(err, durable.DataSync(file), l.state.SyncDir())
}
