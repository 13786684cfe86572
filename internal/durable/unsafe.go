package durable

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Unsafe is the error for a file or folder that exists and is refused: Path is
// absolute, Why a clause, Hint what to do about it (often a command to run).
type Unsafe struct {
	Path, Why, Hint string
}

func (u *Unsafe) Error() string {
	return fmt.Sprintf("refused %s: %s (%s)", u.Path, u.Why, u.Hint)
}

// checkFolder says why a directory may not hold state, or nil.
func checkFolder(path string, info fs.FileInfo, uid int) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &Unsafe{path, "it is a symbolic link", "name the folder that it points to"}
	case !info.IsDir():
		return &Unsafe{path, "it is not a folder", "name a folder, or a path that does not exist yet"}
	case owner(info) != uid:
		return &Unsafe{path, fmt.Sprintf("it belongs to uid %d, not to uid %d", owner(info), uid), "run as its owner, or name another folder"}
	case info.Mode().Perm()&0o077 != 0:
		return &Unsafe{path, fmt.Sprintf("others may enter it (mode %04o)", info.Mode().Perm()), "chmod 700 " + path}
	}
	return nil
}

// checkFile says why a file may not be used, or nil. A second hard link is
// refused because whoever made it reaches the bytes by another path, past the
// folder's mode.
func checkFile(path string, info fs.FileInfo, uid int) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &Unsafe{path, "it is a symbolic link", "put the file itself there"}
	case !info.Mode().IsRegular():
		return &Unsafe{path, "it is not a regular file", "remove it"}
	case owner(info) != uid:
		return &Unsafe{path, fmt.Sprintf("it belongs to uid %d, not to uid %d", owner(info), uid), "run as its owner"}
	case links(info) != 1:
		return &Unsafe{path, fmt.Sprintf("it has %d hard links", links(info)), "find the others with find -samefile and remove them"}
	case info.Mode()&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)&^0o600 != 0:
		return &Unsafe{path, fmt.Sprintf("its mode is %04o, wider than 0600", info.Mode().Perm()), "chmod 600 " + path}
	}
	return nil
}

// checkName refuses all but a plain name: a file of a folder is never reached
// through another folder.
func (f *Folder) checkName(name string) error {
	if name == "" || name == "." || name != filepath.Base(name) || !filepath.IsLocal(name) {
		return &Unsafe{filepath.Join(f.path, name), fmt.Sprintf("%q is not a plain file name", name), "use a name without slashes"}
	}
	return nil
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 0
}
