package snapshot

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// FuzzFile puts changed bytes into the file, as a failing disk or a stranger does.
// Whatever is asked then, the answer may be an error; nothing hangs or panics, and
// no letter has content that nobody put there.
func FuzzFile(f *testing.F) {
	state := newState(f)
	d := openIn(f, state, time.Now)
	want := map[string]backends.Snapshot{}
	for i := range 20 {
		s := seen(string(rune('a'+i)), int64(i))
		want[s.ID] = s
		looked(f, d, place, false, s)
	}
	must(f, d.Close())
	path := filepath.Join(state.Path(), FileName)
	good, err := os.ReadFile(path)
	must(f, err)
	f.Add(uint32(0), []byte("SQLite format 4"))
	f.Add(uint32(18), []byte{9, 9})
	f.Add(uint32(28), []byte{0, 0, 0})
	f.Add(uint32(60), []byte{0, 0, 0, 7})
	f.Add(uint32(bytes.Index(good, []byte("CREATE"))), []byte("DELETE"))
	f.Add(uint32(bytes.Index(good, []byte("body of"))), []byte("BODY"))
	f.Add(uint32(4096), bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, at uint32, bad []byte) {
		data := bytes.Clone(good)
		copy(data[int(at)%len(data):], bad)
		must(t, state.Remove(FileName+"-wal", FileName+"-shm", FileName+"-journal"))
		must(t, os.WriteFile(path, data, 0o600))
		ctx := context.Background()
		d, err := Open(ctx, state, time.Now, month)
		if err != nil {
			return
		}
		defer d.Close()
		d.Look(ctx, place)
		for s, err := range d.Letters(ctx, place, backends.SnapshotQuery{Bodies: true}) {
			if err != nil {
				break
			}
			if w := want[s.ID]; !bytes.Equal(w.Body, s.Body) || !bytes.Equal(w.Facts, s.Facts) || w.Order != s.Order || w.Size != s.Size {
				t.Errorf("letter %q is %+v", s.ID, *s)
			}
		}
		if p, err := d.Begin(ctx, place); err == nil {
			p.Put(ctx, seen("z", 99))
			p.End(ctx, true)
			p.Close()
		}
	})
}
