package snapshot

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// What was last seen longer ago than letters are kept is not shown, in whatever
// way it is asked for, and the next look that ends removes it, of every place.
func TestKeep(t *testing.T) {
	d, clock := newDB(t)
	looked(t, d, "left", false, seen("x", 1))
	must(t, d.Received(t.Context(), "never looked at", "y"))
	looked(t, d, place, true, seen("gone", 9), seen("a", 1))
	looked(t, d, place, true, seen("a", 1), seen("missed", 2))
	p := begin(t, d, "given up")
	must(t, p.Put(t.Context(), seen("z", 1)))
	must(t, p.Close())
	clock.add(month - time.Hour)
	looked(t, d, place, false, seen("a", 1))
	all := []string{"gone", "a", "missed"}
	wantIDs(t, "in time", list(t, d, place, backends.SnapshotQuery{}), "missed(1) a(3) ")
	wantIDs(t, "in time, by id", list(t, d, place, backends.SnapshotQuery{IDs: all}), "missed(1) a(3) ")
	clock.add(time.Hour)
	for place, want := range map[string]string{place: "a(3) ", "left": "", "given up": ""} {
		wantIDs(t, "too old", list(t, d, place, backends.SnapshotQuery{}), want)
		wantIDs(t, "too old, by id", list(t, d, place, backends.SnapshotQuery{IDs: append(all, "x", "z")}), want)
	}
	if n := count(t, d, `SELECT count(*) FROM letters`); n != 6 {
		t.Errorf("%d letters before the look", n)
	}
	looked(t, d, place, false, seen("b", 3))
	wantIDs(t, "in the end", list(t, d, place, backends.SnapshotQuery{}), "b(1) a(3) ")
	if n, bodies := count(t, d, `SELECT count(*) FROM letters`), count(t, d, `SELECT count(*) FROM bodies`); n != 2 || bodies != 2 {
		t.Errorf("%d letters and %d bodies are kept", n, bodies)
	}
	d.SetKeep(time.Second)
	wantIDs(t, "kept for a second", list(t, d, place, backends.SnapshotQuery{}), "")
}

// Old letters are removed in steps, and their room is given back to the disk. An
// End whose time is up ends the look all the same.
func TestSweep(t *testing.T) {
	d, clock := newDB(t)
	p := begin(t, d, place)
	for i := range 10 {
		var letters []backends.Snapshot
		for j := range 1000 {
			s := seen(fmt.Sprint(i, "-", j), int64(j))
			s.Body = make([]byte, 2000)
			letters = append(letters, s)
		}
		must(t, p.Put(t.Context(), letters...))
	}
	must(t, p.End(t.Context(), true))
	must(t, p.Close())
	full := size(t, d)
	p = begin(t, d, place)
	must(t, p.Put(t.Context(), seen("last", 1)))
	ctx, cancel := context.WithCancel(t.Context())
	d.clock = func() time.Time { cancel(); return clock.Now() } // once the first step has begun
	if err := p.End(ctx, true); err != nil {
		t.Errorf("an End whose time is up: %v", err)
	}
	must(t, p.Close())
	if n := count(t, d, `SELECT count(*) FROM letters WHERE gone = 1`); n != sweepStep {
		t.Errorf("%d were marked", n)
	}
	wantIDs(t, "half marked", list(t, d, place, backends.SnapshotQuery{}), "last(1) ")
	clock.add(month)
	looked(t, d, place, true, seen("new", 1))
	wantIDs(t, "swept", list(t, d, place, backends.SnapshotQuery{}), "new(1) ")
	if n := count(t, d, `SELECT count(*) FROM letters`); n != 1 {
		t.Errorf("%d letters are kept", n)
	}
	exec1(t, d, `PRAGMA wal_checkpoint(TRUNCATE)`)
	if now := size(t, d); now > full/2 {
		t.Errorf("the file had %d bytes and has %d", full, now)
	}
}

func size(t *testing.T, d *DB) int64 {
	t.Helper()
	info, err := os.Stat(d.path())
	must(t, err)
	return info.Size()
}
