package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// OpenFile opens a file of the folder with the flags of os.OpenFile and, if it
// is made, mode 0600. The error is an *Unsafe for a symbolic link, anything but
// a regular file, a file with a second hard link, of another owner or with a
// mode wider than 0600. A file made here is durable as a name after SyncDir.
func (f *Folder) OpenFile(name string, flag int) (*os.File, error) {
	if err := f.checkName(name); err != nil {
		return nil, err
	}
	for {
		file, err := f.openExisting(name, flag)
		if flag&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		// O_EXCL never follows a link; somebody quicker sends us round again.
		file, err = f.root.OpenFile(name, flag|os.O_EXCL, 0o600)
		if err == nil {
			return file, nil
		}
		if flag&os.O_EXCL != 0 || !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("making %s: %w", f.join(name), err)
		}
	}
}

// openExisting looks, opens and looks again: os.Root follows links that stay
// inside the folder, and only the second look is at what was really opened.
// O_NONBLOCK keeps a FIFO that was slipped in from blocking the open.
func (f *Folder) openExisting(name string, flag int) (*os.File, error) {
	seen, err := f.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", f.join(name), err)
	}
	if err := checkFile(f.join(name), seen, os.Geteuid()); err != nil {
		return nil, err
	}
	if flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0 {
		return nil, fmt.Errorf("making %s: %w", f.join(name), fs.ErrExist)
	}
	file, err := f.root.OpenFile(name, flag&^os.O_CREATE|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", f.join(name), err)
	}
	if err := f.checkOpened(file, name, seen); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func (f *Folder) checkOpened(file *os.File, name string, seen fs.FileInfo) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("opening %s: %w", f.join(name), err)
	}
	if !os.SameFile(seen, info) {
		return &Unsafe{f.join(name), "it was replaced while it was being opened", "try again; if it happens again, find out who writes there"}
	}
	return checkFile(f.join(name), info, os.Geteuid())
}

// Read returns the content of a file of at most max bytes; a longer one is an
// error.
func (f *Folder) Read(name string, max int64) ([]byte, error) {
	file, err := f.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, max+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.join(name), err)
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("reading %s: it is longer than %d bytes", f.join(name), max)
	}
	return data, nil
}

// Remove removes files; one that is already gone is no error. The flush of the
// directory survives a power loss after which the names would be back.
func (f *Folder) Remove(names ...string) error {
	for _, name := range names {
		if err := f.checkName(name); err != nil {
			return err
		}
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", f.join(name), err)
		}
	}
	return f.SyncDir()
}

// SyncDir flushes the directory itself. Without it a power loss can undo the
// making, renaming or removing of a file whose bytes are already safe. The kernel
// tells of a failed flush once: a later one works and says nothing of what was
// lost. So after a failed one each later one here fails too.
func (f *Folder) SyncDir() error {
	if err := f.failed(nil); err != nil {
		return fmt.Errorf("%w, earlier; look after the disk, then start again", err)
	}
	if err := f.dir.Sync(); err != nil {
		return f.failed(fmt.Errorf("flushing folder %s: %w", f.path, err))
	}
	return f.failed(nil)
}

// failed keeps the first flush that failed in mind, and returns it.
func (f *Folder) failed(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unflushed == nil {
		f.unflushed = err
	}
	return f.unflushed
}

// DataSync flushes a file's bytes and its size, not its times. It survives a
// crash of the operating system or of the power supply right after an append;
// a crash of the process alone needs no flush. After an error nobody knows what
// is on disk: the kernel may have dropped the bytes and forgotten the error, so
// the caller must not try again on this file.
func DataSync(file *os.File) error {
	if err := dataSync(file); err != nil {
		return fmt.Errorf("flushing %s: %w", file.Name(), err)
	}
	return nil
}

// Truncate cuts a file and flushes it, so that the bytes cut off do not come
// back with a power loss and stand between older and newer ones.
func Truncate(file *os.File, size int64) error {
	if err := file.Truncate(size); err != nil {
		return fmt.Errorf("cutting %s to %d bytes: %w", file.Name(), size, err)
	}
	return DataSync(file)
}
