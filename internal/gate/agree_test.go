package gate_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// inLedger does SQL that no part of the program would.
func (h *house) inLedger(query string, args ...any) {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "state", "ledger.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		h.t.Fatal(err)
	}
}

// keep copies ledger and log to a folder; put brings one of them back.
func (h *house) keep(to string) {
	h.t.Helper()
	state := filepath.Join(h.dir, "state")
	data, err := os.ReadFile(filepath.Join(state, "ledger.db"))
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "ledger.db"), data, 0o600)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(to, "audit"), os.DirFS(filepath.Join(state, "audit")))
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) put(from string, names ...string) {
	h.t.Helper()
	state := filepath.Join(h.dir, "state")
	for _, name := range names {
		for _, side := range []string{"", "-wal", "-shm"} {
			if err := os.RemoveAll(filepath.Join(state, name+side)); err != nil {
				h.t.Fatal(err)
			}
		}
		err := filepath.WalkDir(filepath.Join(from, name), func(path string, d os.DirEntry, err error) error {
			to := filepath.Join(state, strings.TrimPrefix(path, from))
			if err != nil || d.IsDir() {
				return firstOf(err, func() error { return os.Mkdir(to, 0o700) })
			}
			data, err := os.ReadFile(path)
			return firstOf(err, func() error { return os.WriteFile(to, data, 0o600) })
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

func firstOf(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// opens reports how the gate answers a new process.
func (h *house) opens() error {
	h.t.Helper()
	h.reopen()
	defer h.gate.Close()
	_, err := h.agent().ListQueues(h.t.Context(), gate.QueuesArgs{})
	return err
}

// history does, step by step, all that ledger and log tell of. After each step no
// process is left.
func history(t *testing.T, h *house, after func(step string)) {
	ctx := t.Context()
	ask := func(queue string) *gate.RequestResult {
		t.Helper()
		id := h.kill(queue, 1, "TimeoutError: x", `{"id":#}`)[0]
		return must[*gate.RequestResult](t)(h.agent().RequestRedrive(ctx, gate.RedriveArgs{Queue: queue, ID: id, Reason: "r"}))
	}
	ok := func(res *gate.RequestResult, err error) { t.Helper(); must[*gate.RequestResult](t)(res, err) }
	var r *gate.RequestResult
	ana := func() *gate.Person { return h.person("ana") }
	approve := func(r *gate.RequestResult) { t.Helper(); ok(ana().Approve(ctx, r.RequestID, r.Digest, "")) }
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a listing", func() { must[*gate.QueuesResult](t)(h.agent().ListQueues(ctx, gate.QueuesArgs{})) }},
		{"a request", func() { r = ask("orders") }},
		{"its denial", func() { ok(ana().Deny(ctx, r.RequestID, "no")) }},
		{"another request", func() { r = ask("orders") }},
		{"its approval", func() { approve(r) }},
		{"its run", func() { ok(ana().Run(ctx, r.RequestID, nil)) }},
		{"a second request", func() { r = ask("orders") }},
		{"which is cancelled", func() {
			must[*gate.StatusResult](t)(h.agent().CancelRedrive(ctx, gate.CancelArgs{RequestID: r.RequestID}))
		}},
		{"a direct one", func() {
			if r = ask("mail"); r.Sent != 1 {
				t.Fatalf("got %+v", r)
			}
		}},
		{"a third request", func() { r = ask("orders") }},
		{"which expires", func() {
			h.clock.add(61 * time.Minute)
			must[*gate.StatusResult](t)(ana().Pending(ctx))
		}},
		{"a fourth one, approved", func() { r = ask("orders"); approve(r) }},
		{"which becomes void", func() {
			h.policy(strings.Replace(standard, "redrive: approval", "redrive: never", 1))
			_, err := ana().Run(ctx, r.RequestID, nil)
			refused(t, err, gate.CodePolicy, "forbids")
			h.policy(standard)
		}},
		{"a fifth one, whose outcome nobody can prove", func() {
			r = ask("orders")
			approve(r)
			h.inLedger(`CREATE TRIGGER lost BEFORE UPDATE OF state ON items WHEN NEW.state = 'done' BEGIN SELECT RAISE(ABORT, 'lost'); END`)
			if res, _ := ana().Run(ctx, r.RequestID, nil); res == nil || res.Status != "unknown" {
				t.Fatalf("got %+v", res)
			}
			h.inLedger(`DROP TRIGGER lost`)
		}},
		{"and a person settles", func() { ok(ana().Settle(ctx, r.RequestID, nil, true, "seen")) }},
		{"a sixth one", func() { r = ask("orders") }},
		{"which another one replaces", func() {
			id := h.kill("orders", 1, "TimeoutError: x", `{}`)[0]
			r = must[*gate.RequestResult](t)(h.agent().RequestRedrive(ctx, gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r", Replace: r.RequestID}))
		}},
	} {
		step.do()
		h.gate.Close()
		after(step.name)
		h.reopen()
	}
	h.gate.Close()
}

// unproven is a house whose job table keeps no receipts.
func unproven(t *testing.T) *house {
	t.Helper()
	h := open(t, standard)
	h.noReceipts = true
	h.policy(standard)
	h.reopen()
	return h
}

// Whatever happened between two copies, the older ledger beside the newer log
// closes the gate, and so does the older log beside the newer ledger; two copies
// of one moment agree.
func TestOlderCopies(t *testing.T) {
	h := unproven(t)
	copies := t.TempDir()
	var names []string
	history(t, h, func(step string) {
		h.keep(filepath.Join(copies, fmt.Sprint(len(names))))
		names = append(names, step)
	})
	at := func(i int) string { return filepath.Join(copies, fmt.Sprint(i)) }
	for newer := range names {
		for _, older := range []int{newer - 1, 0} {
			if newer == 0 {
				break
			}
			h.put(at(older), "ledger.db")
			h.put(at(newer), "audit")
			if err := h.opens(); closedFor(err) != "put the newest ledger back" {
				t.Errorf("the ledger of %q beside the log of %q: %v", names[older], names[newer], err)
			}
			h.put(at(newer), "ledger.db")
			h.put(at(older), "audit")
			if err := h.opens(); closedFor(err) != "lacks a record" {
				t.Errorf("the log of %q beside the ledger of %q: %v", names[older], names[newer], err)
			}
		}
		h.put(at(newer), "ledger.db", "audit")
		if err := h.opens(); err != nil {
			t.Errorf("both of %q: %v", names[newer], err)
		}
	}
}

func closedFor(err error) string {
	if err != nil {
		for _, why := range []string{"put the newest ledger back", "lacks a record"} {
			if strings.Contains(err.Error(), why) {
				return why
			}
		}
	}
	return ""
}

// A process dies after the log has something and before the ledger has noted
// that: nothing is missing, so nothing is closed, whatever it was.
func TestNothingIsNoted(t *testing.T) {
	h := unproven(t)
	history(t, h, func(step string) {
		h.inLedger(`DELETE FROM meta WHERE key = 'head'`)
		h.inLedger(`UPDATE plans SET logged = ''; UPDATE items SET owed = 1 WHERE state NOT IN ('claimed', 'intended')`)
		if err := h.opens(); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	})
	h.clock.add(time.Hour)
	h.reopen()
	must[*gate.StatusResult](t)(h.person("ana").Pending(t.Context()))
	if n := h.rows(`SELECT (SELECT count(*) FROM plans WHERE logged = '' OR ended > 0 AND logged <> state) + (SELECT count(*) FROM items WHERE owed = 1)`); n != 0 {
		t.Errorf("the log still lacks %d things", n)
	}
	h.verify()
}

// cut takes away what the log has after the last record of a phase.
func (h *house) cut(phase, outcome string) {
	h.t.Helper()
	name := filepath.Join(h.dir, "state", "audit", "000000000000.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		h.t.Fatal(err)
	}
	end := 0
	for _, rec := range h.log() {
		if rec.Phase == phase && (outcome == "" || rec.Outcome == outcome) {
			end = strings.Index(string(data), string(rec.Raw)) + len(rec.Raw) + 1
		}
	}
	if end == 0 {
		h.t.Fatalf("the log has no %s %s", phase, outcome)
	}
	if err := os.WriteFile(name, data[:end], 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// Ledger and log of a run, each as it was at every step: a ledger that is ahead
// is what a dead process leaves, and is brought to its end; a log that is ahead
// closes the gate.
func TestEveryStepOfARun(t *testing.T) {
	back := []string{ // from a finished run back to one that was not begun
		`UPDATE plans SET state = 'running', ended = 0, lease = 0`,
		`UPDATE items SET state = 'intended', open = 1, owed = 0, code = ''`,
		`UPDATE items SET state = 'claimed', batch = 0, intended = 0; DELETE FROM batches`,
		`UPDATE plans SET state = 'approved', run = '', fence = 0`,
	}
	logs := []struct{ phase, outcome string }{{"plan", ""}, {"run", ""}, {"intent", ""}, {"outcome", ""}, {"outcome", "done"}}
	copies := t.TempDir()
	h := open(t, standard)
	id := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r"}))
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
	must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
	h.gate.Close()
	h.keep(copies)
	for ledger := range logs { // 4: finished
		for log, cut := range logs {
			h.put(copies, "ledger.db", "audit")
			for _, q := range back[:len(back)-ledger] {
				h.inLedger(q)
			}
			h.inLedger(`UPDATE plans SET logged = 'pending'; UPDATE items SET owed = iif(state = 'done', 1, 0)`)
			h.inLedger(`DELETE FROM meta WHERE key = 'head'`)
			if log == 0 {
				h.cut("approval", "") // a plan without its approval is another matter
			} else if log == 3 {
				h.cutBefore("outcome", "done")
			} else {
				h.cut(cut.phase, cut.outcome)
			}
			err := h.opens()
			if ahead := log > ledger; ahead != (closedFor(err) != "") || !ahead && err != nil {
				t.Errorf("the ledger at step %d and the log at step %d: %v", ledger, log, err)
			}
			if err != nil {
				continue
			}
			h.clock.add(time.Minute)
			h.reopen()
			st := must[*gate.StatusResult](t)(h.person("ana").GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
			if s := st.Requests[0].Status; s == "running" || s == "approved" {
				run, err := h.person("ana").Run(t.Context(), res.RequestID, nil)
				if err == nil && ledger >= 2 && run.Sent != 1 {
					t.Errorf("the ledger at step %d and the log at step %d: %+v", ledger, log, run)
				}
			}
			h.gate.Close()
			if len(h.work()) > 1 {
				t.Error("it was sent twice")
			}
			h.verify()
			states := map[string]bool{}
			for _, rec := range h.log() {
				for _, it := range rec.Items {
					states[it.State] = true
				}
			}
			if ledger == 4 && !states["done"] {
				t.Errorf("the ledger at step %d and the log at step %d: the log lacks the outcome", ledger, log)
			}
		}
	}
}

// cutBefore takes away the last record of a phase and what comes after.
func (h *house) cutBefore(phase, outcome string) {
	h.t.Helper()
	name := filepath.Join(h.dir, "state", "audit", "000000000000.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		h.t.Fatal(err)
	}
	at := -1
	for _, rec := range h.log() {
		if rec.Phase == phase && rec.Outcome == outcome {
			at = strings.Index(string(data), string(rec.Raw))
		}
	}
	if at < 0 {
		h.t.Fatalf("the log has no %s %s", phase, outcome)
	}
	if err := os.WriteFile(name, data[:at], 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// A process dies while it writes a decision down. Before the log has it nothing
// counts, and the person decides anew; once the log has it the next process lets
// it count, whoever that belongs to.
func TestDecisionOfADeadProcess(t *testing.T) {
	for name, yes := range map[string]bool{"approve": true, "deny": false} {
		t.Run(name, func(t *testing.T) {
			h := open(t, standard)
			id := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
			ask := func() (*gate.RequestResult, error) {
				return h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r"})
			}
			res := must[*gate.RequestResult](t)(ask())
			decide := func() (*gate.RequestResult, error) {
				if yes {
					return h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, "")
				}
				return h.person("ana").Deny(t.Context(), res.RequestID, "no")
			}
			// The ledger has the decision and the log does not.
			h.inLedger(`INSERT INTO decisions SELECT id, 'ana', ?, digest, 'none', '', created, 2, '' FROM plans`, !yes)
			if err := h.opens(); err != nil {
				t.Fatal(err)
			}
			h.reopen()
			st := must[*gate.StatusResult](t)(h.agent().GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
			if st.Requests[0].Status != "pending_approval" {
				t.Fatalf("it counts: %+v", st)
			}
			// The log has it and the ledger does not let it count.
			h.inLedger(`CREATE TRIGGER dies BEFORE UPDATE OF hash ON decisions BEGIN SELECT RAISE(ABORT, 'dies'); END`)
			if _, err := decide(); err == nil {
				t.Fatal("it did not die")
			}
			h.gate.Close()
			h.inLedger(`DROP TRIGGER dies`)
			h.reopen()
			if !yes { // the next one may be an agent that asks again
				_, err := ask()
				refused(t, err, gate.CodeDenied)
			}
			st = must[*gate.StatusResult](t)(h.agent().GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
			if want := map[bool]string{true: "approved", false: "denied"}[yes]; st.Requests[0].Status != want {
				t.Errorf("it does not count: %+v", st)
			}
			_, err := decide()
			refused(t, err, gate.CodeState)
			if yes {
				must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
			}
			h.gate.Close()
			h.clock.add(time.Minute)
			if err := h.opens(); err != nil {
				t.Error(err)
			}
			h.toldAll()
			h.verify()
		})
	}
}

// Two people who approve at the same time are two.
func TestTwoApproveAtOnce(t *testing.T) {
	h := open(t, strings.Replace(standard, "from: [oncall]", "from: [oncall], count: 2", 1))
	other := &house{t: t, dir: h.dir, db: h.db, clock: h.clock}
	other.reopen()
	for range 8 {
		id := h.kill("orders", 1, "TimeoutError: x", `{"id":#}`)[0]
		res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, Reason: "r"}))
		var wg sync.WaitGroup
		for name, at := range map[string]*house{"ana": h, "luis": other} {
			wg.Go(func() {
				if _, err := at.person(name).Approve(t.Context(), res.RequestID, res.Digest, ""); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
	}
	h.toldAll()
}
