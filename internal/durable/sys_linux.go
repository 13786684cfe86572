package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync leaves the times out: one journal commit less for an append.
func dataSync(file *os.File) error {
	for {
		if err := unix.Fdatasync(int(file.Fd())); err != unix.EINTR {
			return err
		}
	}
}

// renameNew moves a file to a name that must be free. Hard-linking the second
// name and removing the first would do too, but a crash in between leaves a
// file with two links, which is refused from then on.
func renameNew(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}
