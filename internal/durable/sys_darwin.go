package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync is the full flush: fsync(2) of macOS leaves the bytes in the
// drive's cache, and os.File.Sync asks for F_FULLFSYNC instead.
func dataSync(file *os.File) error { return file.Sync() }

// renameNew moves a file to a name that must be free.
func renameNew(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	return unix.RenameatxNp(fd, from, fd, to, unix.RENAME_EXCL)
}
