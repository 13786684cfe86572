package sqljobs_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// hasty is a journal that lets batches of two be prepared ahead.
type hasty struct {
	ledger
	mu       sync.Mutex
	calls    []string
	admitted func(nth int) // while a batch is admitted
	turned   func(nth int) // while a batch is intended
	recorded func()
}

func (h *hasty) note(call string) (nth int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
	for _, c := range h.calls {
		if c == call {
			nth++
		}
	}
	return nth
}

func (h *hasty) AdmitAhead(_ context.Context, n int) (int, error) {
	if nth := h.note("admit"); h.admitted != nil {
		h.admitted(nth)
	}
	return min(n, 2), nil
}

func (h *hasty) Turn(ctx context.Context, before []backends.Outcome, ticket string, ns ...int) error {
	if nth := h.note("turn"); h.turned != nil {
		h.turned(nth)
	}
	h.ledger.Record(ctx, before...)
	return h.Intend(ctx, ticket, ns...)
}

func (h *hasty) Record(ctx context.Context, os ...backends.Outcome) error {
	h.note("record")
	h.ledger.Record(ctx, os...)
	if h.recorded != nil {
		h.recorded()
	}
	return nil
}

// wait ends the test if an event does not come.
func wait(t *testing.T, event <-chan bool, what string) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(20 * time.Second):
		t.Errorf("%s never came", what)
	}
}

func (h *hasty) redrive(t *testing.T, jobs int) {
	t.Helper()
	s := newSchema(t)
	s.exec(t, jobDDL)
	s.exec(t, "INSERT INTO j (id) SELECT generate_series(1, $1::int)", jobs)
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	if err := st.Redrive(t.Context(), backends.Order{Queue: "jobs", Attempts: "reset", Items: jobItems(t, st)}, h); err != nil {
		t.Fatalf("redriving: %v", err)
	}
	h.want(t, slices.Repeat([]string{"done"}, jobs)...)
	if n := s.exec(t, "SELECT FROM j WHERE status = 'queued'"); n != int64(jobs) {
		t.Errorf("%d of %d jobs are queued", n, jobs)
	}
}

// The second batch is prepared while the first is intended, and the third not
// before the first is over.
func TestAheadOverlaps(t *testing.T) {
	t.Parallel()
	second := make(chan bool)
	h := &hasty{admitted: func(nth int) {
		if nth == 2 {
			close(second)
		}
	}}
	h.turned = func(nth int) {
		if nth == 1 {
			wait(t, second, "the second batch")
		}
	}
	h.redrive(t, 6)
	if first := h.calls[:3]; !slices.Contains(first, "turn") {
		t.Errorf("the calls are %v: more than one batch was in the making", h.calls)
	}
	if got := fmt.Sprint(h.calls[len(h.calls)-2:]); got != "[turn record]" {
		t.Errorf("the calls end with %s", got)
	}
}

// What was sent is recorded although the next batch is not ready.
func TestAheadDoesNotWaitToRecord(t *testing.T) {
	t.Parallel()
	recorded := make(chan bool)
	var once sync.Once
	h := &hasty{recorded: func() { once.Do(func() { close(recorded) }) }}
	h.admitted = func(nth int) {
		if nth == 2 {
			wait(t, recorded, "the record of the first batch")
		}
	}
	h.redrive(t, 3)
}

// In SQLite one transaction writes at a time, so nothing is prepared ahead.
func TestSQLiteIsNotAhead(t *testing.T) {
	f := newFile(t, sqliteDDL)
	f.exec(t, `INSERT INTO jobs (id, queue, payload, status, attempts, max_attempts, created_at, failed_at) VALUES (1, 'default', '{}', 'failed', 3, 3, '2026-01-02', '2026-01-02')`)
	st := f.open(t, sqliteMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	h := &hasty{}
	if err := st.Redrive(t.Context(), backends.Order{Queue: "jobs", Attempts: "reset", Items: jobItems(t, st)}, h); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(h.calls); got != "[record]" {
		t.Errorf("the calls are %s", got)
	}
}
