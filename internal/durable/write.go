package durable

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

const (
	tempPrefix = ".tmp-"
	tempAge    = time.Hour // no write takes that long: older ones belong to a crash
)

// WriteNew makes a file with this content, whole or not at all. If the name is
// taken by a file with the same bytes nothing is done; if by other bytes the
// error wraps fs.ErrExist and the file there is left alone. Several processes
// may write the same name at once.
func (f *Folder) WriteNew(name string, data []byte) error {
	if there, err := f.holds(name, data); there || err != nil {
		return err
	}
	err := f.put(name, data, func(temp string) error { return renameNew(f.dir, temp, name) })
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if there, err := f.holds(name, data); there || err != nil {
		return err
	}
	return err
}

// holds says whether a file exists with exactly these bytes. Its name is
// flushed again, because the one who wrote it may have died before doing so.
func (f *Folder) holds(name string, data []byte) (bool, error) {
	file, err := f.OpenFile(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	old, err := io.ReadAll(io.LimitReader(file, int64(len(data))+1))
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", f.join(name), err)
	}
	if !bytes.Equal(old, data) {
		return false, fmt.Errorf("writing %s: %w with other bytes", f.join(name), fs.ErrExist)
	}
	return true, f.SyncDir()
}

// Overwrite gives a file new content, whole or not at all, and makes it if it
// is missing. A file there that breaks the rules is refused, not replaced.
func (f *Folder) Overwrite(name string, data []byte) error {
	if _, err := f.CheckedPath(name); err != nil {
		return err
	}
	return f.put(name, data, func(temp string) error { return f.root.Rename(temp, name) })
}

// put writes a temporary file, flushes it and moves it to its name.
func (f *Folder) put(name string, data []byte, move func(temp string) error) error {
	if err := f.checkName(name); err != nil {
		return err
	}
	f.sweep.Do(f.sweepTemps)
	temp := tempPrefix + rand.Text()
	err := f.writeTemp(temp, data)
	if err == nil {
		err = move(temp)
	}
	if err != nil {
		// Best effort: what stays is swept by a later writer.
		_ = f.root.Remove(temp)
		return fmt.Errorf("writing %s: %w", f.join(name), err)
	}
	// Survives a power loss after which the old name, or none, would be back.
	return f.SyncDir()
}

// writeTemp flushes the bytes before the file gets its name: without that a
// power loss can leave the new name with an empty or half-written file.
func (f *Folder) writeTemp(temp string, data []byte) error {
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// sweepTemps removes what writers that crashed left half-written. It matters
// for content that somebody may have to erase: no other name leads to it.
func (f *Folder) sweepTemps() {
	names, err := f.Names()
	if err != nil {
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		if info, err := f.root.Lstat(name); err == nil && time.Since(info.ModTime()) > tempAge {
			_ = f.root.Remove(name)
		}
	}
}
