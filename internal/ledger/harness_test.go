package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// The test binary runs itself as a second process that writes the same file.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LEDGER_TEST_CHILD"); dir != "" {
		os.Exit(child(dir, os.Getenv("LEDGER_TEST_NAME")))
	}
	os.Exit(m.Run())
}

// ctx is for the calls of tables and children, which have no test.
var ctx = context.Background()

// errNothing is for a call that was allowed and stored nothing.
var errNothing = errors.New("nothing was stored")

// child is the second process.
func child(dir, name string) int {
	var err error
	switch name {
	case "calls":
		err = childCalls(dir)
	case "stands":
		err = childStands(dir)
	default:
		err = writeMuch(dir, name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// frozen is a clock that goes only when it is told to.
type frozen struct {
	mu  sync.Mutex
	now time.Time
}

func (f *frozen) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *frozen) add(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func newState(t testing.TB) *durable.Folder {
	t.Helper()
	state, err := durable.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	return state
}

// memoryState is a state folder in memory where the system has one, for tests of
// many transitions: what they look at is processes, not disks.
func memoryState(t testing.TB) *durable.Folder {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "redrive-")
	if err != nil {
		return newState(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	state, err := durable.Open(filepath.Join(dir, "state"))
	must(t, err)
	t.Cleanup(func() { state.Close() })
	return state
}

func openIn(t testing.TB, state *durable.Folder, clock Clock) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), state, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func newLedger(t testing.TB) (*Ledger, *frozen) {
	t.Helper()
	clock := &frozen{now: start}
	return openIn(t, newState(t), clock.Now), clock
}

// request is a pending plan of an agent; with changes what differs.
func request(id string, change ...func(*Plan)) Plan {
	p := Plan{ID: id, Digest: "digest of " + id, Bytes: []byte("bytes of " + id), Queue: "mail", Letters: "db/jobs", Physical: "db/jobs#mail",
		Mode: "approval", State: Pending, Kind: "agent", Principal: "luis", Session: "s-1", Same: "same",
		Created: start, Expires: start.Add(time.Hour), NotAfter: start.Add(24 * time.Hour)}
	for _, f := range change {
		f(&p)
	}
	return p
}

func direct(p *Plan)   { p.Mode, p.State = "direct", Approved }
func approved(p *Plan) { p.State = Approved }

func letters(ids ...string) []Item {
	items := make([]Item, len(ids))
	for i, id := range ids {
		items[i] = Item{N: i, Ref: backends.Ref{Queue: "mail", ID: id, Mark: "m-" + id, Digest: sha256.Sum256([]byte(id))}, Salt: sha256.Sum256([]byte("salt" + id))}
	}
	return items
}

// numbered are n letters whose ids begin with prefix.
func numbered(prefix string, n int) []Item {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return letters(ids...)
}

func upTo(n int) []int {
	ns := make([]int, n)
	for i := range ns {
		ns[i] = i
	}
	return ns
}

func outcomes(s backends.State, ns ...int) []backends.Outcome {
	out := make([]backends.Outcome, len(ns))
	for i, n := range ns {
		out[i] = backends.Outcome{N: n, State: s}
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, l *Ledger, p Plan, items []Item) {
	t.Helper()
	must(t, l.Create(t.Context(), p, items, Caps{}))
}

// running creates an approved plan and starts it.
func running(t testing.TB, l *Ledger, p Plan, items []Item) (fence int64) {
	t.Helper()
	create(t, l, p, items)
	fence, err := l.Start(t.Context(), p.ID, "x-1", time.Minute, false)
	must(t, err)
	return fence
}

// intend reserves first, if the test has not done so.
func intend(t testing.TB, l *Ledger, plan string, fence int64, ticket string, ns ...int) {
	t.Helper()
	reserved := 0
	row := l.read.QueryRow(`SELECT coalesce((SELECT n FROM reserved WHERE plan = ?), 0)`, plan)
	must(t, row.Scan(&reserved))
	if reserved < len(ns) {
		_, err := l.Reserve(t.Context(), plan, fence, physical, 0, len(ns))
		must(t, err)
	}
	must(t, l.Intend(t.Context(), plan, "x-1", fence, ticket, ns))
}

// record stores outcomes of the plan as its executor does, whoever that is.
func record(t testing.TB, l *Ledger, plan string, outcomes []backends.Outcome) error {
	t.Helper()
	p, err := l.Get(t.Context(), plan)
	must(t, err)
	stored, err := l.Record(t.Context(), plan, p.Run, p.Fence, outcomes)
	if err == nil && len(stored) != len(outcomes) {
		t.Errorf("stored %d of %d outcomes", len(stored), len(outcomes))
	}
	return err
}

func wantState(t testing.TB, l *Ledger, id string, want State) {
	t.Helper()
	p, err := l.Get(t.Context(), id)
	must(t, err)
	if p.State != want {
		t.Errorf("%s is %s, want %s", id, p.State, want)
	}
}

func wantUsed(t testing.TB, l *Ledger, physical string, want int) {
	t.Helper()
	n, err := l.Used(t.Context(), physical)
	must(t, err)
	if n != want {
		t.Errorf("used %d of the hour, want %d", n, want)
	}
}

func wantClaims(t testing.TB, l *Ledger, want map[string]string, ids ...string) {
	t.Helper()
	got, err := l.Claims(t.Context(), "db/jobs", ids)
	must(t, err)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("claims %v, want %v", got, want)
	}
}

func wantAs[E error](t testing.TB, what string, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Errorf("%s: %v, want %T", what, err, e)
	}
	return e
}

func wantIs(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func allItems(t testing.TB, l *Ledger, plan string, states ...backends.State) (out []Item) {
	t.Helper()
	for it, err := range l.Items(t.Context(), plan, states...) {
		must(t, err)
		out = append(out, it)
	}
	return out
}

// execSQL runs SQL that the package itself would not.
func execSQL(t testing.TB, l *Ledger, query string, args ...any) {
	t.Helper()
	must(t, l.tx(t.Context(), func(x *txn) error {
		_, err := x.ExecContext(context.Background(), query, args...)
		return err
	}))
}
