package audit

import (
	"crypto/rand"
	"fmt"
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
	names, err := dir.Names()
	if err != nil || slices.Contains(names, reserveName) {
		return err
	}
	data := make([]byte, reserveBytes)
	rand.Read(data)
	if err := dir.Overwrite(reserveName, data); err != nil {
		return fmt.Errorf("holding space for outcomes: %w", err)
	}
	return nil
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
