package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Folder is an open folder whose files are private to this user. Names given
// to its methods are plain names, without slashes. Its methods may be called by
// several goroutines, and several processes may have the same folder open.
type Folder struct {
	path  string
	root  *os.Root
	dir   *os.File // the same directory, for fsync and for a rename that never replaces
	sweep sync.Once

	mu        sync.Mutex
	unflushed error // the first flush of the folder that failed
}

// Open opens the folder at an absolute path and makes it, with mode 0700, if
// it is missing. The error is an *Unsafe if the path is relative or a symbolic
// link, or the folder is not ours alone.
func Open(path string) (*Folder, error) {
	if !filepath.IsAbs(path) {
		return nil, &Unsafe{path, "the path is relative", "write the absolute path"}
	}
	path = filepath.Clean(path)
	if err := makeFolder(path); err != nil {
		return nil, fmt.Errorf("making folder %s: %w", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("opening folder: %w", err)
	}
	if err := checkFolder(path, info, os.Geteuid()); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("opening folder: %w", err)
	}
	return newFolder(path, root, info)
}

// makeFolder makes a missing folder and the missing folders above it. Each new
// entry is flushed in its parent, else a power loss can leave files that are
// safe on disk in a folder that no path leads to. Whoever made a folder may have
// died before that; then nothing is in it yet, and its entry is flushed here.
func makeFolder(path string) error {
	parent := filepath.Dir(path)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) && parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		// What is no folder, or not ours to read, is refused when it is opened.
		if info, err := os.Lstat(path); err != nil || !info.IsDir() {
			return nil
		}
		if bare, err := isBare(os.Open(path)); !bare || err != nil {
			return nil
		}
	} else if err != nil {
		return err
	}
	dir, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// isBare reports whether a folder is empty, and closes it.
func isBare(dir *os.File, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// newFolder takes over root. The directory that was opened must be the one
// that was looked at: in between, a link may have taken its place.
func newFolder(path string, root *os.Root, seen fs.FileInfo) (*Folder, error) {
	dir, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("opening folder %s: %w", path, err)
	}
	f := &Folder{path: path, root: root, dir: dir}
	info, err := dir.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening folder %s: %w", path, err)
	}
	if !os.SameFile(seen, info) {
		f.Close()
		return nil, &Unsafe{path, "it was replaced while it was being opened", "find out who writes there"}
	}
	return f, nil
}

// Sub opens a folder inside this one and makes it, with mode 0700, if it is
// missing.
func (f *Folder) Sub(name string) (*Folder, error) {
	if err := f.checkName(name); err != nil {
		return nil, err
	}
	err := f.root.Mkdir(name, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making folder %s: %w", f.join(name), err)
	}
	sub, existing := f.Existing(name)
	if existing != nil {
		return nil, existing
	}
	bare := err == nil
	if !bare {
		bare, err = isBare(sub.root.Open("."))
	}
	if bare {
		// Survives a power loss after the first file inside was flushed. Whoever
		// made it may have died before this.
		err = f.SyncDir()
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// Existing opens a folder inside this one. The error wraps fs.ErrNotExist if
// it is missing; nothing is made, so that a reader changes nothing.
func (f *Folder) Existing(name string) (*Folder, error) {
	if err := f.checkName(name); err != nil {
		return nil, err
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("opening folder %s: %w", f.join(name), err)
	}
	if err := checkFolder(f.join(name), info, os.Geteuid()); err != nil {
		return nil, err
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("opening folder %s: %w", f.join(name), err)
	}
	return newFolder(f.join(name), root, info)
}

// Path returns the folder's absolute path.
func (f *Folder) Path() string { return f.path }

func (f *Folder) join(name string) string { return filepath.Join(f.path, name) }

// CheckedPath returns the absolute path of a file for a library that opens
// files itself. The file meets the rules now, or does not exist. A library that
// would make it with a wider mode needs it made before, empty, by OpenFile.
func (f *Folder) CheckedPath(name string) (string, error) {
	if err := f.checkName(name); err != nil {
		return "", err
	}
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.join(name), nil
	}
	if err != nil {
		return "", fmt.Errorf("checking %s: %w", f.join(name), err)
	}
	return f.join(name), checkFile(f.join(name), info, os.Geteuid())
}

// Names returns the sorted names of what is in the folder.
func (f *Folder) Names() ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", f.path, err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", f.path, err)
	}
	slices.Sort(names)
	return names, nil
}

// Close releases the folder. Files opened from it stay open.
func (f *Folder) Close() error {
	return errors.Join(f.dir.Close(), f.root.Close())
}
