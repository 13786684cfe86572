package audit

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

const (
	reserveName  = "reserve"
	reserveBytes = 1 << 20
)

// holdReserve makes sure that space for outcomes is held back before anything
// is written that could need one. It is taken from the disk by random bytes:
// a filesystem that compresses keeps zeros for free.
func (l *Log) holdReserve(dir *durable.Folder, batch []*request) error {
	if !slices.ContainsFunc(batch, func(r *request) bool { return !r.kept() }) {
		return nil
	}
	held, err := holds(dir)
	if held || err != nil {
		return err
	}
	data := make([]byte, reserveBytes)
	rand.Read(data)
	if err := dir.Overwrite(reserveName, data); err != nil {
		return fmt.Errorf("holding space for outcomes: %w", err)
	}
	return nil
}

// holds says whether the space is held back. What stands in its place and holds
// nothing is an error, or is replaced.
func holds(dir *durable.Folder) (bool, error) {
	file, err := dir.OpenFile(reserveName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	return err == nil && info.Size() >= reserveBytes, err
}

// FreeReserve gives the space that is held back to the disk: for a record that
// tells what already happened, or so that a person can look and halt while the
// disk is full. The next ordinary Append takes it again, or fails.
func (l *Log) FreeReserve() error {
	dir, err := l.dir.open()
	if err == nil {
		err = dir.Remove(reserveName)
	}
	return err
}
