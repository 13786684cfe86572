package accounting

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

const stepVariable = "REDRIVE_FIRE_STEP"

// TestEveryStepPostgres and TestEveryStepSQLite kill the program by SIGKILL at
// each named step of a request, its approval and its run, and what resumes it at
// another one. A short run takes one step in 25, others each time.
func TestEveryStepPostgres(t *testing.T) {
	t.Parallel()
	everyStep(t, kind{postgres: newServer(t), schema: "steps", receipts: true})
}

func TestEveryStepSQLite(t *testing.T) {
	t.Parallel()
	everyStep(t, kind{journal: "wal", receipts: true})
}

func everyStep(t *testing.T, k kind) {
	seed := seeded(t)
	rnd, w := chooser(seed, 0), newWorld(t, k)
	stride := 1
	if *fireFor == 0 {
		stride = 25
	}
	tried := 0
	for at := 1 + rnd.IntN(stride); ; at += stride {
		w.afresh(6)
		// The first request of a state folder is not among the steps.
		w.command("redrive", -1, "redrive", "pairs", "--id", "13", "--reason", "r", "--as", "luis")
		first, died := w.steps("begin", at)
		second, _ := w.steps("resume", 1+rnd.IntN(40))
		must(t, w.jobs.drain())
		w.settle()
		w.account()
		for _, f := range w.faults {
			t.Errorf("killed at step %d, %s, and again at %s: %s", at, first, second, f)
		}
		w.faults = nil
		if !died {
			break
		}
		tried++
	}
	if tried*stride < 75 {
		t.Errorf("only %d steps were tried", tried)
	}
	t.Logf("killed at %d steps of %d", tried, tried*stride)
}

// afresh empties everything and makes n dead jobs in every queue.
func (w *world) afresh(n int) {
	w.t.Helper()
	must(w.t, os.RemoveAll(w.state))
	for _, table := range []string{"{S}jobs", "{S}effects", "{S}rivals"} {
		must(w.t, w.jobs.exec("DELETE FROM "+table))
	}
	if w.jobs.postgres {
		must(w.t, w.jobs.exec("DELETE FROM {S}receipts"))
	} else {
		must(w.t, w.jobs.exec("DROP TABLE IF EXISTS redrive_receipts"))
	}
	w.known, w.last = nil, 0
	w.kill(n)
}

// steps runs an executor that kills itself at a step. It answers the last step
// that was reached, and whether the executor died there.
func (w *world) steps(what string, at int) (last string, died bool) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Dir, cmd.Env = w.dir, append(w.env, fmt.Sprintf("%s=%s %d", stepVariable, what, at))
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		last = lines.Text()
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && status.Signal() != syscall.SIGKILL {
		w.fault("%s, after %q: %v: %s", what, last, err, &stderr)
	}
	return last, err != nil
}

// stepper is the executor that dies.
func stepper() int {
	what, at, _ := strings.Cut(os.Getenv(stepVariable), " ")
	s := &steps{}
	var err error
	if s.at, err = strconv.Atoi(at); err == nil {
		err = s.play(context.Background(), what)
	}
	// A refusal is a good end: what was killed before may have left nothing to do.
	if _, refused := errors.AsType[*gate.Refusal](err); err != nil && !refused {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (s *steps) play(ctx context.Context, what string) error {
	drivers := map[string]backends.Driver{}
	for _, d := range []backends.Driver{sqljobs.Postgres(), sqljobs.SQLite()} {
		open := d.Open
		d.Open = func(c backends.Config) (backends.Store, error) {
			store, err := open(c)
			return stepStore{store, s}, err
		}
		drivers[d.Kind] = d
	}
	g, err := gate.Open(ctx, gate.Options{PolicyPath: os.Getenv("REDRIVE_POLICY"), Drivers: drivers, Clock: s.clock})
	if err != nil {
		return err
	}
	defer g.Close()
	agent := g.Agent(gate.Caller{Principal: "luis", OSUser: "fire", Session: "s"})
	ana := g.Person(gate.Caller{Principal: "ana", OSUser: "fire"})
	if what == "resume" {
		return ana.RunOpen(ctx, func(gate.RequestResult, error) {})
	}
	// Three letters by the agent alone, in two batches, and two patched ones by
	// approval.
	if _, err := agent.RequestRedrive(ctx, gate.RedriveArgs{Queue: "mail", IDs: []string{"7", "8", "10"}, Reason: "r"}); err != nil {
		return err
	}
	ids := []string{"3", "6"}
	patch, err := agent.ProposePatch(ctx, gate.PatchArgs{Queue: "orders", IDs: ids, Patch: gate.RawJSON(`[{"op":"add","path":"/currency","value":"EUR"}]`)})
	if err != nil {
		return err
	}
	asked, err := agent.RequestRedrive(ctx, gate.RedriveArgs{Queue: "orders", IDs: ids, PatchID: patch.PatchID, Reason: "r"})
	if err != nil {
		return err
	}
	if _, err := ana.Approve(ctx, asked.RequestID, asked.Digest, ""); err != nil {
		return err
	}
	_, err = ana.Run(ctx, asked.RequestID, nil)
	return err
}

// steps counts the named steps of a process and ends it at one of them.
type steps struct {
	mu sync.Mutex
	n  int
	at int
}

func (s *steps) step(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	fmt.Println(name) // to a pipe, at once
	if s.n == s.at {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
}

// clock tells the time, and is a step: ledger and log ask for it within each
// transaction and before each write.
func (s *steps) clock() time.Time {
	s.step(caller())
	return time.Now()
}

// caller names who asked for the time: the outermost function of the ledger or
// the log on the stack, or the gate.
func caller() (name string) {
	pcs := make([]uintptr, 40)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		short := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		ours := strings.HasPrefix(short, "ledger.") || strings.HasPrefix(short, "audit.")
		if name != "" && !ours {
			return name
		}
		if ours || name == "" && strings.HasPrefix(short, "gate.") {
			name = short
		}
		if !more {
			return name
		}
	}
}

// stepStore has a step before and after all that it is asked.
type stepStore struct {
	backends.Store
	s *steps
}

func (st stepStore) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	st.s.step("before the store sends")
	defer st.s.step("after the store sent")
	steps := stepJournal{j, st.s}
	if a, ok := j.(backends.Ahead); ok {
		return st.Store.Redrive(ctx, o, stepAhead{steps, a})
	}
	return st.Store.Redrive(ctx, o, steps)
}

func (st stepStore) Resolve(ctx context.Context, queue string, doubts []backends.Doubt, j backends.Journal) error {
	st.s.step("before the store resolves")
	return st.Store.Resolve(ctx, queue, doubts, stepJournal{j, st.s})
}

// stepJournal makes batches of two.
type stepJournal struct {
	backends.Journal
	s *steps
}

func (j stepJournal) Admit(ctx context.Context, n int) (int, error) {
	j.s.step("before admission")
	return j.Journal.Admit(ctx, min(n, 2))
}

func (j stepJournal) Intend(ctx context.Context, ticket string, ns ...int) error {
	j.s.step("rows changed, not intended")
	err := j.Journal.Intend(ctx, ticket, ns...)
	j.s.step("intended, not committed")
	return err
}

func (j stepJournal) Record(ctx context.Context, outcomes ...backends.Outcome) error {
	j.s.step("committed, not recorded")
	err := j.Journal.Record(ctx, outcomes...)
	j.s.step("recorded")
	return err
}

// stepAhead has no step while a batch is prepared beside another.
type stepAhead struct {
	stepJournal
	ahead backends.Ahead
}

func (j stepAhead) AdmitAhead(ctx context.Context, n int) (int, error) {
	return j.ahead.AdmitAhead(ctx, min(n, 2))
}

func (j stepAhead) Turn(ctx context.Context, before []backends.Outcome, ticket string, ns ...int) error {
	j.s.step("rows changed, not intended")
	err := j.ahead.Turn(ctx, before, ticket, ns...)
	j.s.step("intended, not committed")
	return err
}
