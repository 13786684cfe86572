package gate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// logSize is how many bytes the log has.
func logSize(t *testing.T, h *house) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dir, "state", "audit", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// A client floods the gate with garbage, each kind of it, while a plan runs. The
// log grows by a bounded amount and tells how many there were; the run comes to
// its end; who waits is heard again.
func TestFloodOfGarbage(t *testing.T) {
	h := open(t, standard)
	ids := h.kill("orders", 40, "TimeoutError: x", `{"id":#}`)
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", IDs: ids, Reason: "r"}))
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
	kinds := map[string]func(*gate.Agent, context.Context, int) error{
		"unknown queue": func(a *gate.Agent, ctx context.Context, _ int) error {
			_, err := a.List(ctx, gate.ListArgs{Queue: "none"})
			return err
		},
		"unknown queues": func(a *gate.Agent, ctx context.Context, i int) error {
			_, err := a.Group(ctx, gate.GroupArgs{Queue: fmt.Sprint("none", i)})
			return err
		},
		"unknown letter": func(a *gate.Agent, ctx context.Context, i int) error {
			_, err := a.Inspect(ctx, gate.InspectArgs{Queue: "mail", ID: fmt.Sprint(i)})
			return err
		},
		"unknown request": func(a *gate.Agent, ctx context.Context, _ int) error {
			_, err := a.GetRedrive(ctx, gate.GetArgs{RequestID: "r-none"})
			return err
		},
		"claimed letters": func(a *gate.Agent, ctx context.Context, _ int) error {
			_, err := a.RequestRedrive(ctx, gate.RedriveArgs{Queue: "orders", IDs: ids[:1], Reason: "r"})
			return err
		},
		"bad argument": func(a *gate.Agent, ctx context.Context, _ int) error {
			_, err := a.List(ctx, gate.ListArgs{Queue: "mail", Limit: -1})
			return err
		},
		"forged cursor": func(a *gate.Agent, ctx context.Context, _ int) error {
			_, err := a.List(ctx, gate.ListArgs{Queue: "mail", Cursor: "forged"})
			return err
		},
		"unknown tool": func(a *gate.Agent, ctx context.Context, _ int) error {
			return a.Heard(ctx, gate.Message{Method: "tools/call", Tool: "approve", Err: "unknown tool"})
		},
		"ping": func(a *gate.Agent, ctx context.Context, _ int) error {
			return a.Heard(ctx, gate.Message{Method: "ping"})
		},
	}
	const flood = 1500
	var wg sync.WaitGroup
	before := logSize(t, h)
	for name, do := range kinds {
		a := h.gate.Agent(gate.Caller{Principal: "luis", Session: name})
		wg.Go(func() {
			for i := range flood {
				if err := do(a, t.Context(), i); err == nil && !strings.Contains("unknown tool, ping", name) {
					t.Errorf("%s: it was not refused", name)
				}
			}
		})
	}
	must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
	wg.Wait()
	if n := len(h.work()); n != 40 {
		t.Errorf("%d letters were sent, want 40", n)
	}
	// Of each session 100 refusals of two records, and two records a second and kind.
	if grown := logSize(t, h) - before; grown > int64(len(kinds))*300<<10 {
		t.Errorf("%d calls added %d KiB", flood*len(kinds), grown>>10)
	} else {
		t.Logf("%d calls added %d KiB", flood*len(kinds), grown>>10)
	}
	if _, err := h.gate.Agent(gate.Caller{Principal: "luis"}).ListQueues(t.Context(), gate.QueuesArgs{}); err != nil {
		t.Errorf("another session: %v", err)
	}
	h.gate.Close()
	if told := countTold(h); told < flood*len(kinds) {
		t.Errorf("the log tells of %d calls, want at least %d", told, flood*len(kinds))
	}
	h.verify()
}

// countTold sums up the calls that the log tells of.
func countTold(h *house) (n int) {
	for _, r := range h.log() {
		if r.Phase != "call" {
			continue
		}
		n++
		for _, a := range r.Args {
			if count, ok := a.Value.(int64); ok && a.Key == "count" {
				n += int(count) - 1
			}
		}
	}
	return n
}

// Who was refused too often is heard again after a while, and a person always.
func TestPatienceComesBack(t *testing.T) {
	h := open(t, standard)
	a := h.agent()
	ask := func() error {
		_, err := a.GetRedrive(t.Context(), gate.GetArgs{RequestID: "r-none"})
		return err
	}
	for range 100 {
		refused(t, ask(), gate.CodeNoRequest)
	}
	refused(t, ask(), gate.CodeLimit, "Wait a minute")
	_, err := a.ListQueues(t.Context(), gate.QueuesArgs{})
	refused(t, err, gate.CodeLimit)
	h.clock.add(time.Second)
	refused(t, ask(), gate.CodeNoRequest)
	refused(t, ask(), gate.CodeLimit)
	h.clock.add(time.Minute)
	must[*gate.QueuesResult](t)(a.ListQueues(t.Context(), gate.QueuesArgs{}))
	p := h.person("ana")
	for range 101 {
		_, err := p.Show(t.Context(), "r-none", false)
		refused(t, err, gate.CodeNoRequest)
	}
}
