package gate_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// lockLog keeps the log locked, as a process does that is stopped in a write.
func lockLog(t *testing.T, h *house) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(h.dir, "state", "audit", "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// lockLedger keeps the ledger locked.
func lockLedger(t *testing.T, h *house) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "state", "ledger.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() { tx.Rollback(); db.Close() }
}

// A process that is stopped while it has the lock of the log or of the ledger
// holds everybody up. They are told so, and a person is told what to do; nothing
// is sent, stopping still works, and when the lock is free all goes on.
func TestLockedByAStoppedProcess(t *testing.T) {
	for name, c := range map[string]struct {
		lock func(*testing.T, *house) func()
		code gate.Code
		file string
	}{
		"log":    {lockLog, gate.CodeAudit, "audit/lock"},
		"ledger": {lockLedger, gate.CodeClosed, "ledger.db"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, standard)
			ids := h.kill("mail", 2, "TimeoutError: x", `{"id":#}`)
			must[*gate.QueuesResult](t)(h.agent().ListQueues(t.Context(), gate.QueuesArgs{}))
			unlock := c.lock(t, h)
			_, err := h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: ids, Reason: "r"})
			refused(t, err, c.code)
			if r, ok := errors.AsType[*gate.Refusal](err); !ok || !strings.Contains(r.Hint, "fuser "+filepath.Join(h.dir, "state", c.file)) {
				t.Errorf("a person is told %+v", r)
			}
			h.person("ana").Stop(t.Context(), "it hangs") // it may be unable to write that down
			unlock()
			if n := len(h.work()); n != 0 {
				t.Errorf("%d letters were sent", n)
			}
			_, err = h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: ids, Reason: "r"})
			refused(t, err, gate.CodeStopped)
			if err := h.person("ana").Resume(t.Context(), "it goes on"); err != nil {
				t.Fatal(err)
			}
			must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: ids, Reason: "r"}))
			if n := len(h.work()); n != 2 {
				t.Errorf("%d letters were sent, want 2", n)
			}
			h.verify()
		})
	}
}
