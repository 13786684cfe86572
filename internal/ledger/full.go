package ledger

import (
	"errors"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// IsFull reports whether an error means that the disk has no room, which SQLite
// says as SQLITE_FULL or, while it grows its side files, as an I/O error.
func IsFull(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == lib.SQLITE_FULL || e.Code()&0xff == lib.SQLITE_IOERR)
}
