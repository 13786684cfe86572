package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	lib "modernc.org/sqlite/lib"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/durable/badflush"
)

// Every call while the disk flushes nothing: what it wrote is not called stored,
// here or by another process, and it is not taken for a full disk. If the
// machine goes down then, the call has happened whole or not at all.
func TestEveryCallWhenFlushesFail(t *testing.T) {
	state := newState(t)
	l := openIn(t, state, (&frozen{now: start}).Now)
	other := openIn(t, state, (&frozen{now: start}).Now)
	failed := 0
	for _, s := range []State{Pending, Approved, Running, Stopping, Unknown} {
		for i, c := range calls {
			id, f := fmt.Sprintf("r%s%d-", s, i), fact{state: s, items: midway}
			f.put(t, l, id)
			before := dump(t, l, id)
			var err error
			badflush.During(t, func() { err = c.do(l, id, "A") })
			after, seen := dump(t, l, id), dump(t, other, id)
			if flushFailed(err) {
				failed++
			}
			// One that changes nothing has nothing to flush.
			if f.allows(i) && !flushFailed(err) && err != nil || IsFull(err) {
				t.Errorf("%s while %s: %v", c.name, s, err)
			}
			if after != before || seen != before {
				t.Errorf("%s while %s: %v, and it changed\n%sto\n%s\nand for others to\n%s", c.name, s, err, before, after, seen)
			}
			after = afterwards(t, state, id)
			err = c.do(l, id, "A")
			if (err == nil) != f.allows(i) {
				t.Errorf("%s while %s with flushes again: %v", c.name, s, err)
			}
			if done := dump(t, l, id); after != before && after != done {
				t.Errorf("%s while %s: after a crash it is\n%s\nneither\n%s\nnor\n%s", c.name, s, after, before, done)
			}
			wipe(t, l)
		}
	}
	if failed < 50 {
		t.Errorf("only %d calls met a flush that failed", failed)
	}
}

// afterwards is what is kept of a plan if the machine goes down now and all that
// was written has reached the disk, flushed or not.
func afterwards(t *testing.T, state *durable.Folder, id string) string {
	t.Helper()
	copied := newState(t)
	for _, name := range []string{FileName, FileName + "-wal"} {
		data, err := os.ReadFile(filepath.Join(state.Path(), name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(copied.Path(), name), data, 0o600))
	}
	l, err := Open(t.Context(), copied, (&frozen{now: start}).Now)
	must(t, err)
	defer l.Close()
	return dump(t, l, id)
}

// A ledger whose making was not flushed is not used.
func TestOpenWhenFlushesFail(t *testing.T) {
	state := newState(t)
	badflush.During(t, func() {
		if l, err := Open(t.Context(), state, (&frozen{now: start}).Now); err == nil {
			t.Error("it opens")
			l.Close()
		} else if IsFull(err) {
			t.Errorf("it is taken for a full disk: %v", err)
		}
	})
	state, err := durable.Open(state.Path())
	must(t, err)
	defer state.Close()
	l := openIn(t, state, (&frozen{now: start}).Now)
	create(t, l, request("r-1"), letters("a"))
}

// flushFailed reports whether SQLite says that a flush failed.
func flushFailed(err error) bool {
	return code(err) == lib.SQLITE_IOERR_FSYNC || code(err) == lib.SQLITE_IOERR_DIR_FSYNC
}
