package gate_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// approved is a request for one letter that ana has approved.
func approved(t *testing.T, h *house) (*gate.RequestResult, string) {
	t.Helper()
	id := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r"}))
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
	return res, id
}

// Whatever changes between the steps, nothing is sent that was not approved.
func TestChangedBetweenTheSteps(t *testing.T) {
	ledgerRow := func(query string) func(*house, *gate.RequestResult, string) {
		return func(h *house, res *gate.RequestResult, _ string) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "state", "ledger.db"))
			if err != nil {
				h.t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(query, res.RequestID); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	row := func(query string) func(*house, *gate.RequestResult, string) {
		return func(h *house, _ *gate.RequestResult, id string) { h.exec(query, id) }
	}
	newPolicy := func(old, new string) func(*house, *gate.RequestResult, string) {
		return func(h *house, _ *gate.RequestResult, _ string) {
			if !strings.Contains(standard, old) {
				h.t.Fatalf("the policy lacks %q", old)
			}
			h.policy(strings.Replace(standard, old, new, 1))
		}
	}
	cases := []struct {
		name   string
		change func(*house, *gate.RequestResult, string)
		status string // of the request afterwards
		words  string // in the error, "" if the run itself succeeds
	}{
		{"the body", row(`UPDATE jobs SET payload = '{"id":666}' WHERE id = ?`), "partial", ""},
		{"another column that a consumer sees", row(`UPDATE jobs SET priority = 9 WHERE id = ?`), "partial", ""},
		{"the row is gone", row(`DELETE FROM jobs WHERE id = ?`), "partial", ""},
		{"somebody retried it", row(`UPDATE jobs SET status = 'queued' WHERE id = ?`), "partial", ""},
		{"it was retried and died again with the same bytes", row(`UPDATE jobs SET failed_at = '2099-01-01T00:00:00Z' WHERE id = ?`), "partial", ""},
		{"the policy says never", newPolicy("redrive: approval", "redrive: never"), "void", "forbids"},
		{"the queue is gone", newPolicy("  orders:\n    source: {backend: app, queue: orders}", "  other:\n    source: {backend: app, queue: orders}"), "void", "no queue of that name"},
		{"the source is another", newPolicy("queue: orders}", "queue: elsewhere}"), "void", "target"},
		{"two must approve now", newPolicy("from: [oncall]", "from: [oncall], count: 2"), "void", "1 of 2 approvals"},
		{"the approver may not any more", newPolicy("from: [oncall]", "from: [luis]"), "void", "0 of 1"},
		{"somebody else must approve, and somebody did", newPolicy("from: [oncall]", "from: [oncall], separation: person"), "done", ""},
		{"a looser policy does not loosen the plan", newPolicy("redrive: approval", "redrive: direct\n    handler: {idempotent: true}\n    limits: {per_hour: 9}"), "done", ""},
		{"the policy does not load", newPolicy("redrive: approval", "redrive: approvall"), "approved", "does not load"},
		{"an item's body in the ledger", ledgerRow(`UPDATE items SET body = x'7b7d' WHERE plan = ?`), "halted", "not what the frozen plan binds"},
		{"an item out of the ledger", ledgerRow(`DELETE FROM items WHERE plan = ?`), "void", "has 0 of its 1 items"},
		{"an item's id in the ledger", ledgerRow(`UPDATE items SET id = '77' WHERE plan = ?`), "halted", "not what the frozen plan binds"},
		{"the plan's bytes in the ledger", ledgerRow(`UPDATE frozen SET bytes = x'7b7d' WHERE plan = ?`), "", ""},
		{"a decision in the ledger", ledgerRow(`UPDATE decisions SET person = 'luis' WHERE plan = ?`), "void", "not in the audit log"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			h := open(t, standard)
			res, id := approved(t, h)
			tc.change(h, res, id)
			before := h.work()
			p := h.person("ana")
			done, err := p.Run(t.Context(), res.RequestID, nil)
			if tc.words != "" && (err == nil || !strings.Contains(err.Error(), tc.words)) {
				t.Errorf("got error %v, want one with %q", err, tc.words)
			}
			if tc.status == "done" {
				if err != nil || len(h.work()) != 1 {
					t.Fatalf("it was not sent: %v", err)
				}
				return
			}
			if got := h.work(); len(got) > 0 {
				t.Fatalf("sent %v, before that %v", got, before)
			}
			if tc.status != "" && tc.words == "" && done.Status != tc.status {
				t.Errorf("got %+v, want status %s", done, tc.status)
			}
			if tc.status == "void" {
				h.policy(standard)
				st := must[*gate.StatusResult](t)(p.GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
				if st.Requests[0].Status != "void" {
					t.Errorf("it is %s", st.Requests[0].Status)
				}
			}
			h.verify()
		})
	}
}

func TestForgedApproval(t *testing.T) {
	h := open(t, standard)
	id := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r"}))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "state", "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`UPDATE plans SET state = 'approved' WHERE id = ?1`,
		`INSERT INTO decisions SELECT ?1, 'ana', 1, digest, 'none', '', created, 3, 'abc' FROM plans WHERE id = ?1`,
	} {
		if _, err := db.Exec(q, res.RequestID); err != nil {
			t.Fatal(err)
		}
		if _, err := h.person("ana").Run(t.Context(), res.RequestID, nil); err == nil {
			t.Fatal("it ran")
		}
		if _, err := db.Exec(`UPDATE plans SET state = 'approved' WHERE id = ?`, res.RequestID); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.work()) > 0 {
		t.Error("something was sent")
	}
}

func TestWhoMayDecide(t *testing.T) {
	h := open(t, strings.Replace(standard, "from: [oncall]", "from: [oncall], count: 2, separation: person", 1))
	id := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
	res := must[*gate.RequestResult](t)(h.person("carla").RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r"}))
	_, err := h.person("carla").Approve(t.Context(), res.RequestID, res.Digest, "")
	refused(t, err, gate.CodePolicy, "carla may not decide")
	first := must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
	if first.Status != "pending_approval" || !strings.Contains(first.Next, "1 of 2") {
		t.Errorf("got %+v", first)
	}
	_, err = h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, "")
	refused(t, err, gate.CodeState, "already decided")
	_, err = h.person("luis").Approve(t.Context(), res.RequestID, strings.Repeat("0", 64), "")
	refused(t, err, gate.CodeChanged)
	second := must[*gate.RequestResult](t)(h.person("luis").Approve(t.Context(), res.RequestID, res.Digest, ""))
	if second.Status != "approved" {
		t.Errorf("got %+v", second)
	}
	// With separation: person an agent's principal may not approve its request.
	other := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
	asked := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: other, Reason: "r"}))
	_, err = h.person("luis").Approve(t.Context(), asked.RequestID, asked.Digest, "")
	refused(t, err, gate.CodePolicy, "luis may not decide")
}

// An older ledger, or a new one, does not make anything possible again.
func TestRolledBack(t *testing.T) {
	t.Run("an older ledger", func(t *testing.T) {
		h := open(t, standard)
		res, id := approved(t, h)
		h.gate.Close()
		copies := filepath.Join(t.TempDir(), "kept")
		h.keep(copies)
		h.reopen()
		must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
		if len(h.work()) != 1 {
			t.Fatal("it was not sent")
		}
		// It dies again, in the same way, and the old ledger says "approved".
		h.exec(`UPDATE jobs SET status = 'failed' WHERE id = ?`, id)
		h.gate.Close()
		h.put(copies, "ledger.db")
		h.reopen()
		done, err := h.person("ana").Run(t.Context(), res.RequestID, nil)
		refused(t, err, gate.CodeClosed, "put the newest ledger back")
		if len(h.work()) != 0 {
			t.Fatalf("sent a second time: %+v %v", done, err)
		}
		// The hint is the way out.
		hint := err.(*gate.Refusal).Hint
		if !strings.Contains(hint, "run of request "+res.RequestID) || !strings.Contains(hint, "move the whole state folder aside") {
			t.Errorf("the hint is %q", hint)
		}
		if err := os.Rename(filepath.Join(h.dir, "state"), filepath.Join(h.dir, "aside")); err != nil {
			t.Fatal(err)
		}
		if err := h.opens(); err != nil {
			t.Errorf("with an empty folder: %v", err)
		}
	})
	t.Run("ledger lost", func(t *testing.T) {
		h := open(t, standard)
		res, _ := approved(t, h)
		must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
		h.gate.Close()
		for _, side := range []string{"", "-wal", "-shm"} {
			os.Remove(filepath.Join(h.dir, "state", "ledger.db"+side))
		}
		for range 3 { // as often as it is tried
			h.reopen()
			_, err := h.agent().ListQueues(t.Context(), gate.QueuesArgs{})
			refused(t, err, gate.CodeClosed, "ledger does not know")
		}
		// Even then a person can stop everything.
		if err := h.person("ana").Stop(t.Context(), "what is this"); err == nil {
			t.Error("stop claims that it was recorded")
		}
		if _, err := os.Stat(filepath.Join(h.dir, "state", "go")); err == nil {
			t.Error("it was not stopped")
		}
	})
}

// Another process on a new state folder may be between its first plan and the
// note of it: the log has the plan, the ledger has it too and notes no head yet.
func TestOpenedWhileAnotherPlacesItsFirst(t *testing.T) {
	h := open(t, standard)
	res, _ := approved(t, h)
	h.gate.Close()
	if n := h.rows(`DELETE FROM meta WHERE key = 'head' RETURNING 1`); n != 1 {
		t.Fatal("the ledger noted no head")
	}
	h.reopen()
	must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
	if len(h.work()) != 1 {
		t.Error("it was not sent")
	}
	h.verify()
}

func TestClockWentBack(t *testing.T) {
	h := open(t, standard)
	res, _ := approved(t, h)
	h.clock.add(-10 * time.Minute)
	if _, err := h.person("ana").Run(t.Context(), res.RequestID, nil); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("got %v", err)
	}
	ids := h.kill("mail", 1, "x", "{}")
	_, err := h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: ids, Reason: "r"})
	refused(t, err, gate.CodeClosed, "clock")
	if len(h.work()) != 0 {
		t.Error("something was sent")
	}
}
