package ledger

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// FuzzItems keeps any two letters with any bodies and new ids: they come back as
// they were and claim what they are, or they are refused as a whole.
func FuzzItems(f *testing.F) {
	l, _ := newLedger(f)
	for i, id := range hostile {
		f.Add(id, hostile[len(hostile)-1-i], []byte(id), i%2 == 0, id)
	}
	f.Add("\xff", "a", []byte{0xff}, true, "\xc3")
	n := 0
	f.Fuzz(func(t *testing.T, id, mark string, body []byte, patched bool, newID string) {
		n++
		plan := fmt.Sprint("r-", n)
		items := letters(id, id+"'")
		items[0].Ref.Mark = mark
		if patched {
			items[0].Body = append([]byte{}, body...)
		}
		err := l.Create(t.Context(), request(plan, approved), items, Caps{})
		if valid := utf8.ValidString(id) && utf8.ValidString(mark); !valid || err != nil {
			if valid {
				t.Fatal(err)
			}
			if got := allItems(t, l, plan); err == nil || len(got) > 0 {
				t.Fatalf("%q with %q became %+v", id, mark, got)
			}
			return
		}
		got := allItems(t, l, plan)
		if len(got) != 2 || got[0].Ref != items[0].Ref || got[1].Ref != items[1].Ref || got[0].Salt != items[0].Salt ||
			!bytes.Equal(got[0].Body, items[0].Body) || (got[0].Body == nil) != !patched {
			t.Fatalf("%+v became %+v", items, got)
		}
		wantClaims(t, l, map[string]string{id: plan, id + "'": plan}, id, id+"'")
		fence, err := l.Start(t.Context(), plan, "x-1", 0, true)
		must(t, err)
		intend(t, l, plan, fence, "t-"+plan, 0, 1)
		must(t, record(t, l, plan, []backends.Outcome{{N: 0, State: backends.Done, NewID: newID}, {N: 1, State: backends.Claimed}}))
		_, err = l.Finish(t.Context(), plan, fence, true, newID)
		must(t, err)
		if got := allItems(t, l, plan); got[0].NewID != newID && utf8.ValidString(newID) {
			t.Errorf("new id %q became %q", newID, got[0].NewID)
		}
		wantClaims(t, l, map[string]string{}, id, id+"'")
	})
}

// FuzzFile puts changed bytes into the ledger's file, as a failing disk or a
// stranger does: whatever is asked then, the answer may be an error, and nothing
// hangs or panics.
func FuzzFile(f *testing.F) {
	state, clock := memoryState(f), &frozen{now: start}
	path := filepath.Join(state.Path(), FileName)
	l, err := Open(f.Context(), state, clock.Now)
	must(f, err)
	fact{state: Running, items: midway}.put(f, l, "r-1")
	must(f, l.SetHead(f.Context(), Head{Log: "l", Seq: 9, Hash: "h"}))
	must(f, l.Close())
	good, err := os.ReadFile(path)
	must(f, err)
	f.Add(uint32(0), []byte("SQLite format 4"))
	f.Add(uint32(18), []byte{9, 9})    // versions of the file's format
	f.Add(uint32(28), []byte{0, 0, 0}) // number of pages
	f.Add(uint32(60), []byte{0, 0, 0, 7})
	f.Add(uint32(100), []byte{5})
	f.Add(uint32(4096), bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, at uint32, bad []byte) {
		data := bytes.Clone(good)
		copy(data[int(at)%len(data):], bad)
		for _, side := range []string{"-wal", "-shm", "-journal"} {
			os.Remove(path + side)
		}
		must(t, os.WriteFile(path, data, 0o600))
		l, err := Open(t.Context(), state, clock.Now)
		if err != nil {
			return
		}
		defer l.Close()
		ctx := context.WithoutCancel(t.Context())
		l.Get(ctx, "r-1")
		l.Find(ctx)
		l.Head(ctx)
		l.Secret(ctx)
		l.Now()
		for range l.Items(ctx, "r-1") {
		}
		for _, c := range calls {
			c.do(l, "r-1", "A")
		}
	})
}
