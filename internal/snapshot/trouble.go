package snapshot

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// damagedError means that something is in the file that was not put there so.
type damagedError struct{ why string }

func (e *damagedError) Error() string { return e.why }

func damaged(format string, args ...any) error { return &damagedError{fmt.Sprintf(format, args...)} }

// trouble puts an error into words and says what to do about it.
func (d *DB) trouble(doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, told := errors.AsType[*backends.Error](err); told {
		return err
	}
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code() & 0xff
	}
	cause := fmt.Errorf("%s: %w", doing, err)
	_, wrong := errors.AsType[*damagedError](err)
	unsafe, refused := errors.AsType[*durable.Unsafe](err)
	switch {
	case refused:
		return backends.Errorf(backends.Internal, cause, "a file of the state folder is refused: %s", unsafe.Why).WithHint("%s: %s", unsafe.Path, unsafe.Hint)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return cause
	case errors.Is(err, durable.ErrLocked), code == lib.SQLITE_BUSY:
		return backends.Errorf(backends.Busy, cause, "another process keeps the letters that were seen locked").
			WithHint("if the process that has %s open is stopped or hangs, let it go on or end it (fuser %s names it)", d.path(), d.path())
	case code == lib.SQLITE_FULL, code == lib.SQLITE_IOERR:
		return backends.Errorf(backends.Internal, cause, "the letters that were seen cannot be kept: the disk of the state folder is full or fails").
			WithHint("make room for %s, or remove it and its -wal and -shm while no redrive-mcp runs", d.path())
	case wrong, code == lib.SQLITE_CORRUPT, code == lib.SQLITE_NOTADB, code == lib.SQLITE_ERROR:
		return backends.Errorf(backends.Internal, cause, "the file of the letters that were seen is damaged").
			WithHint("let no redrive-mcp run and remove %s, its -wal and its -shm; the next look makes it anew and nothing is lost", d.path())
	}
	return cause
}
