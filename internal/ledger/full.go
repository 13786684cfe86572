package ledger

import (
	"errors"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// IsFull reports whether an error means that the disk has no room, which SQLite
// says as SQLITE_FULL or, of a quota and while it grows its side files, as an I/O
// error. With room again the same call is worth another try.
func IsFull(err error) bool {
	switch code(err) {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMOPEN, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_SHMMAP:
		return true
	}
	return false
}

// DiskFails reports whether an error means that the disk is full or does not do
// what it is told: it does not read, write or flush.
func DiskFails(err error) bool {
	return code(err) == lib.SQLITE_FULL || code(err)&0xff == lib.SQLITE_IOERR
}

// code is SQLite's extended code of an error, 0 for one that is not SQLite's.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}
