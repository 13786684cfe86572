package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// The test binary runs itself as a second process that looks.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SNAPSHOT_TEST_CHILD"); dir != "" {
		if err := child(dir, os.Getenv("SNAPSHOT_TEST_DOES")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

const month = 30 * 24 * time.Hour

// ticking is a clock that goes on by a second whenever it is asked, and further
// when it is told to.
type ticking struct {
	mu  sync.Mutex
	now time.Time
}

func (c *ticking) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Second)
	return c.now
}

func (c *ticking) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newState(t testing.TB) *durable.Folder {
	t.Helper()
	state, err := durable.Open(filepath.Join(t.TempDir(), "state"))
	must(t, err)
	t.Cleanup(func() { state.Close() })
	return state
}

func openIn(t testing.TB, state *durable.Folder, clock func() time.Time) *DB {
	t.Helper()
	d, err := Open(t.Context(), state, clock, month)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func newDB(t testing.TB) (*DB, *ticking) {
	clock := &ticking{now: start}
	return openIn(t, newState(t), clock.Now), clock
}

func begin(t testing.TB, d *DB, place string) backends.Pass {
	t.Helper()
	p, err := d.Begin(t.Context(), place)
	must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// looked makes a look of letters that came to its end.
func looked(t testing.TB, d *DB, place string, whole bool, letters ...backends.Snapshot) {
	t.Helper()
	p := begin(t, d, place)
	must(t, p.Put(t.Context(), letters...))
	must(t, p.End(t.Context(), whole))
	must(t, p.Close())
}

// seen is a letter whose content follows from its id and order.
func seen(id string, order int64) backends.Snapshot {
	body := fmt.Appendf(nil, "body of %q at %d", id, order)
	return backends.Snapshot{ID: id, Order: order, Facts: fmt.Appendf(nil, "facts of %q", id), Body: body, Size: len(body)}
}

func list(t testing.TB, d *DB, place string, q backends.SnapshotQuery) (all []backends.Snapshot) {
	t.Helper()
	for s, err := range d.Letters(t.Context(), place, q) {
		must(t, err)
		all = append(all, *s)
	}
	return all
}

func ids(all []backends.Snapshot) string {
	text := ""
	for _, s := range all {
		text += fmt.Sprintf("%s(%d) ", s.ID, s.Looks)
	}
	return text
}

func wantIDs(t testing.TB, what string, all []backends.Snapshot, want string) {
	t.Helper()
	if got := ids(all); got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func exec1(t testing.TB, d *DB, query string, args ...any) {
	t.Helper()
	_, err := d.write.ExecContext(context.Background(), query, args...)
	must(t, err)
}

func count(t testing.TB, d *DB, query string, args ...any) (n int) {
	t.Helper()
	must(t, d.read.QueryRow(query, args...).Scan(&n))
	return n
}
