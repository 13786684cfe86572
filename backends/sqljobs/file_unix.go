//go:build unix

package sqljobs

import (
	"fmt"
	"io/fs"
	"syscall"
)

// linked reports whether a file has a second name in the file system.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// fileNumber tells two files apart that had the same path at different times.
func fileNumber(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf(":%d", st.Ino)
	}
	return ""
}
