package gate_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable/badflush"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// breakFlushes makes an executor's flushes fail once it has reported progress as
// often as asked for.
func breakFlushes() func() {
	var kind badflush.Kind
	var after int
	if _, err := fmt.Sscan(os.Getenv("REDRIVE_TEST_UNFLUSHED"), &kind, &after); err != nil {
		return func() {}
	}
	return func() {
		if after--; after == 0 {
			if err := badflush.Forever(kind); err != nil {
				fmt.Println("failed", err)
				os.Exit(1)
			}
		}
	}
}

// In the middle of a run the disk stops to flush: all files, the ledger's or the
// log's alone. The run ends and does not say that it came to its end. The next one
// asks the store first: every job runs exactly once, and the log accounts for it.
func TestFlushesFailInTheMiddle(t *testing.T) {
	const jobs = 2500 // five batches
	for _, kind := range []badflush.Kind{badflush.Any, badflush.Sync, badflush.Data} {
		for _, after := range []int{1, 3} {
			t.Run(fmt.Sprint(kind, " after ", after), func(t *testing.T) {
				h := open(t, `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    approval: {from: [oncall], max_messages: 5000}
`)
				h.kill("orders", jobs, "TimeoutError: x", `{"id":#}`)
				h.exec(`CREATE TABLE sent (id INTEGER, at TEXT);
					CREATE TRIGGER count_sends AFTER UPDATE OF status ON jobs WHEN new.status = 'queued' BEGIN INSERT INTO sent VALUES (new.id, 'x'); END`)
				groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
				res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: jobs, Reason: "r"}))
				must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
				h.gate.Close()
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "REDRIVE_TEST_EXECUTOR="+h.dir, "REDRIVE_TEST_REQUEST="+res.RequestID, fmt.Sprintf("REDRIVE_TEST_UNFLUSHED=%d %d", kind, after))
				out, err := cmd.Output()
				if err == nil || !bytes.Contains(out, []byte("failed")) || strings.Count(string(out), "progress") < after {
					t.Errorf("it says %v, %s", err, out)
				}
				h.clock.add(time.Since(h.clock.now())) // it had the real time
				h.reopen()
				p := h.person("ana")
				must[*gate.RequestResult](t)(p.Run(t.Context(), res.RequestID, nil))
				if got := must[*gate.StatusResult](t)(p.GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID})).Requests[0]; got.Status != "done" || got.Sent != jobs {
					t.Errorf("got %+v", got)
				}
				if sends, distinct := h.count(`SELECT count(*) FROM sent`), h.count(`SELECT count(DISTINCT id) FROM sent`); sends != jobs || distinct != jobs {
					t.Errorf("%d sends of %d jobs, want each of %d once", sends, distinct, jobs)
				}
				h.verify()
			})
		}
	}
}

// count asks the job table for a number.
func (h *house) count(query string) (n int) {
	h.t.Helper()
	if err := h.db.QueryRow(query).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}
