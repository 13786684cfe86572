package ledger

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/durable/smalldisk"
)

// Every call on a disk that has no room, or so little that a write is cut short:
// it is whole, or it is an error that changes nothing and says why. Looking works
// meanwhile, and with room again the call does what it does elsewhere.
func TestEveryCallOnAFullDisk(t *testing.T) {
	disk := smalldisk.Mount(t, 500)
	state, err := durable.Open(filepath.Join(disk, "state"))
	must(t, err)
	defer state.Close()
	l := openIn(t, state, (&frozen{now: start}).Now)
	failed := 0
	for _, s := range []State{Pending, Approved, Running, Stopping, Unknown} {
		for i, c := range calls {
			for leave := range 3 {
				id := fmt.Sprintf("r%s%d.%d", s, i, leave)
				f := fact{state: s, items: midway}
				f.put(t, l, id)
				exec1(t, l, `PRAGMA wal_checkpoint(TRUNCATE)`) // else there is room in it
				before := dump(t, l, id)
				free := smalldisk.Fill(t, disk, leave)
				err := c.do(l, id, "A")
				after := dump(t, l, id)
				if IsFull(err) {
					failed++
				} else if (err == nil) != f.allows(i) {
					t.Errorf("%s while %s with %d pages left: %v", c.name, s, leave, err)
				}
				if err != nil && after != before {
					t.Errorf("%s while %s with %d pages left: %v, and it changed\n%sto\n%s", c.name, s, leave, err, before, after)
				}
				free()
				if !IsFull(err) {
					continue
				}
				if err := c.do(l, id, "A"); (err == nil) != f.allows(i) {
					t.Errorf("%s while %s with room again: %v", c.name, s, err)
				}
			}
		}
	}
	if failed < 100 {
		t.Errorf("only %d calls met a full disk", failed)
	}
	var check string
	must(t, l.read.QueryRow(`PRAGMA integrity_check`).Scan(&check))
	if check != "ok" {
		t.Error(check)
	}
}

// A ledger that cannot be made because the disk is full is made later.
func TestOpenOnAFullDisk(t *testing.T) {
	for leave := range 12 {
		disk := smalldisk.Mount(t, 600)
		state, err := durable.Open(filepath.Join(disk, "state"))
		must(t, err)
		defer state.Close()
		free := smalldisk.Fill(t, disk, leave)
		l, err := Open(t.Context(), state, (&frozen{now: start}).Now)
		if err == nil {
			t.Errorf("a ledger was made in %d pages", leave)
			l.Close()
		} else if !IsFull(err) {
			t.Errorf("with %d pages: %v", leave, err)
		}
		free()
		l = openIn(t, state, (&frozen{now: start}).Now)
		create(t, l, request("r-1"), letters("a"))
		l.Close()
	}
}
