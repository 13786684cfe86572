package snapshot

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/durable/smalldisk"
)

func isFull(err error) bool {
	e, ok := errors.AsType[*backends.Error](err)
	return ok && strings.Contains(e.Sentence, "full") && strings.Contains(e.Hint, FileName)
}

// On a disk without room a batch is kept whole or not at all, what was kept can be
// read, and with room again the look goes on.
func TestFullDisk(t *testing.T) {
	disk := smalldisk.Mount(t, 1500)
	state, err := durable.Open(filepath.Join(disk, "state"))
	must(t, err)
	defer state.Close()
	d := openIn(t, state, time.Now)
	p := begin(t, d, place)
	kept, failed := 0, 0
	for i := range 60 {
		free := smalldisk.Fill(t, disk, i)
		err := p.Put(t.Context(), batch(i, 40)...)
		if isFull(err) {
			failed++
		} else {
			must(t, err)
			kept += 40
		}
		if n := len(list(t, d, place, backends.SnapshotQuery{Bodies: true})); n != kept {
			t.Fatalf("%d letters are listed, %d were kept", n, kept)
		}
		free()
		if isFull(err) {
			must(t, p.Put(t.Context(), batch(i, 40)...))
			kept += 40
		}
		exec1(t, d, `PRAGMA wal_checkpoint(TRUNCATE)`) // else there is room in it
	}
	if failed < 5 || failed == 60 {
		t.Errorf("%d of 60 puts met a full disk", failed)
	}
	must(t, p.End(t.Context(), true))
	if l, err := d.Look(t.Context(), place); l.Seen != kept || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// A file that cannot be made because the disk is full is made later.
func TestOpenOnAFullDisk(t *testing.T) {
	for leave := range 8 {
		disk := smalldisk.Mount(t, 600)
		state, err := durable.Open(filepath.Join(disk, "state"))
		must(t, err)
		defer state.Close()
		free := smalldisk.Fill(t, disk, leave)
		d, err := Open(t.Context(), state, time.Now, month)
		if err == nil {
			t.Errorf("a file was made in %d pages", leave)
			d.Close()
		} else if !isFull(err) {
			t.Errorf("with %d pages: %v", leave, err)
		}
		free()
		d = openIn(t, state, time.Now)
		looked(t, d, place, true, seen(fmt.Sprint(leave), 1))
		must(t, d.Close())
	}
}
