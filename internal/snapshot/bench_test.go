package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// kibibytes makes a batch of letters with bodies of 1 KiB.
func kibibytes(i, n int) []backends.Snapshot {
	letters := batch(i, n)
	for j := range letters {
		body := make([]byte, 1024)
		copy(body, letters[j].Body)
		letters[j].Body, letters[j].Size = body, len(body)
	}
	return letters
}

// fill makes a look of many letters and fails if SQLite's log outgrows its bound.
func fill(t testing.TB, d *DB, n int, after func()) {
	t.Helper()
	p := begin(t, d, place)
	for i := range n / 1000 {
		must(t, p.Put(t.Context(), kibibytes(i, 1000)...))
		after()
	}
	must(t, p.End(t.Context(), true))
	must(t, p.Close())
	info, err := os.Stat(filepath.Join(d.state.Path(), FileName+"-wal"))
	must(t, err)
	if info.Size() > 32<<20 {
		t.Errorf("the log has %d bytes", info.Size())
	}
}

// Neither a look at 200,000 letters of 1 KiB nor listing them with their bodies
// takes memory for more than a page of them.
func TestMemory(t *testing.T) {
	d := openIn(t, newState(t), time.Now)
	n, most := 0, uint64(0)
	watch := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	fill(t, d, 200_000, watch)
	for s, err := range d.Letters(t.Context(), place, backends.SnapshotQuery{Bodies: true}) {
		must(t, err)
		if n++; n%5000 == 0 {
			watch()
		}
		if len(s.Body) != 1024 {
			t.Fatalf("%d bytes", len(s.Body))
		}
	}
	t.Logf("%d letters, at most %d KiB of heap", n, most>>10)
	if n != 200_000 || most > 30<<20 {
		t.Errorf("%d letters, at most %d KiB of heap", n, most>>10)
	}
}

// BenchmarkPut keeps batches of 1000 letters of 1 KiB: of a first look, and of one
// that sees the same again.
func BenchmarkPut(b *testing.B) {
	for _, name := range []string{"new", "again"} {
		b.Run(name, func(b *testing.B) {
			d := openIn(b, newState(b), time.Now)
			if name == "again" {
				fill(b, d, 100_000, func() {})
			}
			p := begin(b, d, place)
			i := 0
			for b.Loop() {
				if name == "again" {
					i %= 100
				}
				must(b, p.Put(b.Context(), kibibytes(i, 1000)...))
				i++
			}
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "letters/s")
		})
	}
}

// BenchmarkLetters reads from 1,000,000 letters of 1 KiB.
func BenchmarkLetters(b *testing.B) {
	d := openIn(b, newState(b), time.Now)
	fill(b, d, 1_000_000, func() {})
	var some []string
	for i := range 50 {
		some = append(some, fmt.Sprintf("%06d-%04d", i*19, i))
	}
	for _, c := range []struct {
		name string
		want int
		q    backends.SnapshotQuery
	}{
		{"first-50-of-1M", 50, backends.SnapshotQuery{}},
		{"50-in-the-middle-of-1M", 50, backends.SnapshotQuery{After: "000500-0500", Order: 500}},
		{"50-by-id-of-1M", 50, backends.SnapshotQuery{IDs: some, Bodies: true}},
		{"all-of-1M", 1_000_000, backends.SnapshotQuery{}},
		{"all-of-1M-with-bodies", 1_000_000, backends.SnapshotQuery{Bodies: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range d.Letters(b.Context(), place, c.q) {
					must(b, err)
					if n++; n == c.want {
						break
					}
				}
				if n != c.want {
					b.Fatalf("%d letters", n)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MiB-heap")
		})
	}
}
