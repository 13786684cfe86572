package redrive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

const (
	planID   = "r-plan"
	digest   = "d1gest"
	physical = "toy/jobs#mail"
)

// world is a plan, its store and the state folder; process() stands for a
// process that opens them.
type world struct {
	t     testing.TB
	state *durable.Folder
	store *toy
	now   time.Time
	mu    sync.Mutex // guards now
	order Order
	steps steps
}

// memory is a folder in memory where the system has one: what is tested here is
// processes that die, not disks that lose power.
func memory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "redrive-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newWorld(t testing.TB, ids ...string) *world {
	t.Helper()
	return worldIn(t, memory(t)+"/state", ids...)
}

// worldIn makes a world in a folder; if a ledger is there, the plan is in it.
func worldIn(t testing.TB, path string, ids ...string) *world {
	t.Helper()
	state, err := durable.Open(path)
	must(t, err)
	t.Cleanup(func() { state.Close() })
	w := &world{t: t, state: state, now: start}
	w.store = &toy{w: w, batch: 2, receipts: true, dead: map[string]bool{}, sent: map[string]int{}, done: map[string]bool{}}
	for _, id := range ids {
		w.store.dead[id] = true
	}
	w.order = Order{Plan: planID, Digest: digest, Queue: "mail", Physical: physical, Attempts: "reset",
		Check:  func(context.Context) error { return nil },
		Still:  func(context.Context) error { return nil },
		Bind:   func(ledger.Item) error { return nil },
		Commit: func(n int) string { w.steps.crash("commit"); return fmt.Sprint("c", n) },
		Redact: func(s string) string { w.steps.crash("redact"); return "redacted" },
		Record: audit.Record{Op: "o-1", Actor: "person ana"},
	}
	if names, err := state.Names(); err != nil || len(names) == 0 {
		must(t, err)
		w.plant(ids)
	}
	return w
}

// plant writes the plan, and a first record of the log.
func (w *world) plant(ids []string) {
	w.t.Helper()
	p := w.process()
	defer p.close()
	items := make([]ledger.Item, len(ids))
	for i, id := range ids {
		items[i] = ledger.Item{N: i, Ref: backends.Ref{Queue: "mail", ID: id, Mark: "m", Digest: sha256.Sum256([]byte(id))}}
	}
	must(w.t, p.ledger.Create(w.t.Context(), ledger.Plan{ID: planID, Digest: digest, Bytes: []byte("b"), Queue: "mail", Letters: "toy/jobs", Physical: physical,
		Mode: "approval", State: ledger.Approved, Kind: "agent", Created: start, Expires: start.Add(time.Hour), NotAfter: start.Add(24 * time.Hour)}, items, ledger.Caps{}))
	_, err := p.log.Append(w.t.Context(), audit.Record{Phase: audit.PhaseCall})
	must(w.t, err)
}

// seeds makes many equal worlds from one, by copying its files.
type seeds struct {
	path, parent string
	ids          []string
	made         int
}

func newSeeds(t testing.TB, ids ...string) *seeds {
	s := &seeds{parent: memory(t), ids: ids}
	s.path = s.parent + "/seed"
	worldIn(t, s.path, ids...)
	return s
}

// world makes the next world; the one before is gone.
func (s *seeds) world(t testing.TB) *world {
	t.Helper()
	must(t, os.RemoveAll(fmt.Sprintf("%s/%d", s.parent, s.made)))
	s.made++
	path := fmt.Sprintf("%s/%d", s.parent, s.made)
	must(t, filepath.WalkDir(s.path, func(from string, entry fs.DirEntry, err error) error {
		to := path + strings.TrimPrefix(from, s.path)
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o700))
		}
		data, err := os.ReadFile(from)
		return errors.Join(err, os.WriteFile(to, data, 0o600))
	}))
	return worldIn(t, path, s.ids...)
}

func (w *world) clock() time.Time {
	w.steps.crash("ledger")
	return w.time()
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

type process struct {
	ledger *ledger.Ledger
	log    *audit.Log
	exec   *Executor
}

func (w *world) process() *process {
	w.t.Helper()
	l, err := ledger.Open(w.t.Context(), w.state, w.clock)
	must(w.t, err)
	log, err := audit.Open(w.state, audit.Options{Clock: w.time, Host: "h", PID: 1})
	must(w.t, err)
	return &process{l, log, &Executor{Ledger: l, Log: log, Wait: func(_ context.Context, d time.Duration) error { w.add(d); return nil }}}
}

func (p *process) close() {
	p.ledger.Close()
	p.log.Close()
}

// run is one process that runs the plan.
func (w *world) run() (ledger.State, error) {
	w.t.Helper()
	p := w.process()
	defer p.close()
	return p.exec.Run(w.t.Context(), w.store, w.order)
}

// finish lets process after process run the plan until it is over.
func (w *world) finish() ledger.State {
	w.t.Helper()
	w.steps = steps{}
	for range 5 {
		p := w.process()
		row, err := p.ledger.Get(w.t.Context(), planID)
		must(w.t, err)
		state := row.State
		if state.Open() {
			state, err = p.exec.Run(w.t.Context(), w.store, w.order)
		}
		p.close()
		if !state.Open() {
			return state
		}
		w.t.Logf("a process ended with the plan %s: %v", state, err)
	}
	w.t.Fatal("the plan does not end")
	return ""
}

func (w *world) plan() ledger.Plan {
	w.t.Helper()
	p := w.process()
	defer p.close()
	row, err := p.ledger.Get(w.t.Context(), planID)
	must(w.t, err)
	return row
}

func (w *world) items() (out []ledger.Item) {
	w.t.Helper()
	p := w.process()
	defer p.close()
	for it, err := range p.ledger.Items(w.t.Context(), planID) {
		must(w.t, err)
		out = append(out, it)
	}
	return out
}

func (w *world) records(phases ...string) (out []audit.Record) {
	w.t.Helper()
	for r, err := range audit.Read(w.t.Context(), w.state, audit.Query{Plan: digest}) {
		must(w.t, err)
		if len(phases) == 0 || slices.Contains(phases, r.Phase) {
			out = append(out, r)
		}
	}
	return out
}

// check holds the world against the guarantee when the plan is over: every item
// went once, or is still dead, or is called unknown; ledger, log and store agree.
func (w *world) check(what string) {
	w.t.Helper()
	last, before := map[int]string{}, map[string]string{}
	for _, r := range w.records(audit.PhaseIntent, audit.PhaseOutcome, audit.PhaseResolve) {
		for _, it := range r.Items {
			intent := fmt.Sprint(r.Run, it.N)
			if r.Phase == audit.PhaseIntent {
				before[intent] = last[it.N]
			}
			last[it.N] = it.State
			if r.Why != "" { // the intent was called off
				last[it.N] = before[intent]
			}
		}
	}
	for _, it := range w.items() {
		id, sent := it.Ref.ID, w.store.sent[it.Ref.ID]
		switch it.State {
		case backends.Done, backends.Sent:
			if sent != 1 {
				w.t.Errorf("%s: %s is %s and was sent %d times", what, id, it.State, sent)
			}
		case backends.Doubtful:
			if sent > 1 || w.store.receipts {
				w.t.Errorf("%s: %s is unknown, was sent %d times", what, id, sent)
			}
		case backends.Claimed, backends.Skipped, backends.Failed:
			if sent != 0 {
				w.t.Errorf("%s: %s is %s and was sent %d times", what, id, it.State, sent)
			}
		default:
			w.t.Errorf("%s: %s ends as %s", what, id, it.State)
		}
		if logged, ok := last[it.N]; logged != string(it.State) && (ok || it.State != backends.Claimed) {
			w.t.Errorf("%s: %s is %s in the ledger and %q in the log", what, id, it.State, logged)
		}
	}
	report, err := audit.Verify(w.t.Context(), w.state, audit.VerifyOptions{})
	must(w.t, err)
	if report.Bad != nil || len(report.Dangling) > 0 {
		w.t.Errorf("%s: the log: %v, dangling %v", what, report.Bad, report.Dangling)
	}
	if w.store.sentInResolve {
		w.t.Errorf("%s: the store sent while it resolved", what)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var errFault = errors.New("the store fails here")

// crash is what stands for the end of a process.
type crash struct{ at string }

// steps counts the places where a run can break and breaks it at one of them.
type steps struct {
	n    int
	at   int // 0: nowhere
	kind string
	last string
	do   func() // what "do" does
}

// here counts a place. Where nothing is to break nothing is counted, so that
// several executors may run then.
func (s *steps) here(name string) bool {
	if s.at == 0 {
		return false
	}
	s.n++
	s.last = name
	return s.n == s.at
}

// step is a place where a run can break in every way.
func (s *steps) step(name string) error {
	if !s.here(name) {
		return nil
	}
	switch s.kind {
	case "crash":
		panic(crash{name})
	case "error":
		return errFault
	case "do":
		s.do()
	}
	return nil
}

// crash is a place where a run can only end with its process.
func (s *steps) crash(name string) {
	if s.here(name) && s.kind == "crash" {
		panic(crash{name})
	}
}
