//go:build unix

package sqljobs

import (
	"fmt"
	"io/fs"
	"syscall"
)

// fileNumber tells two files apart that had the same path at different times.
func fileNumber(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf(":%d", st.Ino)
	}
	return ""
}
