package gate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// The job table breaks in the middle. What is told is a sentence, nothing is
// half done, and once it is whole again the request is run to its end.
func TestStoreBreaks(t *testing.T) {
	type mend func()
	moved := func(h *house) mend {
		from, to := filepath.Join(h.dir, "jobs.db"), filepath.Join(h.dir, "away.db")
		if err := os.Rename(from, to); err != nil {
			h.t.Fatal(err)
		}
		return func() {
			if err := os.Rename(to, from); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	cases := map[string]func(*house) mend{
		"the file is gone": moved,
		"another file stands in its place": func(h *house) mend {
			back := moved(h)
			path := filepath.Join(h.dir, "jobs.db")
			db, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				h.t.Fatal(err)
			}
			if _, err := db.Exec(table + `INSERT INTO jobs SELECT 1, 'orders', 'charge', '{}', 'failed', 0, 3, 3, 'TimeoutError: x', '', '2026-01-01T00:00:00Z'`); err != nil {
				h.t.Fatal(err)
			}
			db.Close()
			return func() { os.Remove(path); back() }
		},
		"the table is gone": func(h *house) mend {
			h.exec(`ALTER TABLE jobs RENAME TO secret_table`)
			return func() { h.exec(`ALTER TABLE secret_table RENAME TO jobs`) }
		},
		"a column is gone": func(h *house) mend {
			h.exec(`ALTER TABLE jobs RENAME COLUMN payload TO secret_column`)
			return func() { h.exec(`ALTER TABLE jobs RENAME COLUMN secret_column TO payload`) }
		},
		"no database any more": func(h *house) mend {
			back := moved(h)
			path := filepath.Join(h.dir, "jobs.db")
			if err := os.WriteFile(path, []byte(strings.Repeat("secret nonsense ", 600)), 0o600); err != nil {
				h.t.Fatal(err)
			}
			return func() { os.Remove(path); back() }
		},
		"a trigger refuses with the payload": func(h *house) mend {
			h.exec(`CREATE TRIGGER no BEFORE UPDATE ON jobs BEGIN SELECT RAISE(ABORT, 'secret trigger 4111111111111111'); END`)
			return func() { h.exec(`DROP TRIGGER no`) }
		},
	}
	for name, broken := range cases {
		for _, reopened := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reopened %v", name, reopened), func(t *testing.T) {
				h := open(t, standard)
				res, _ := approved(t, h)
				direct := h.kill("mail", 1, "TimeoutError: x", `{"id":#}`)
				repair := broken(h)
				if reopened {
					h.gate.Close()
					h.reopen()
				}
				var said []string
				note := func(_ any, err error) {
					if err != nil {
						said = append(said, err.Error())
					}
				}
				a, p := h.agent(), h.person("ana")
				note(a.List(t.Context(), gate.ListArgs{Queue: "mail"}))
				note(a.Group(t.Context(), gate.GroupArgs{Queue: "mail"}))
				note(a.Inspect(t.Context(), gate.InspectArgs{Queue: "mail", ID: direct[0]}))
				note(a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: direct, Reason: "r"}))
				run, err := p.Run(t.Context(), res.RequestID, nil)
				note(run, err)
				if run.Sent > 0 || run.Unknown > 0 || err == nil && run.Failed+run.Skipped != 1 {
					t.Errorf("the run says %+v %v", run, err)
				}
				shown := must[*gate.ShowResult](t)(p.Show(t.Context(), res.RequestID, false))
				for _, s := range append(said, shown.Request.Why, shown.Request.Next) {
					if strings.Contains(s, "secret") || strings.Contains(s, "sqlite") || strings.Contains(s, "SQL") {
						t.Errorf("it tells what the store said: %s", s)
					}
				}
				repair()
				if n := len(h.work()); n != 0 {
					t.Fatalf("%d letters were sent", n)
				}
				if rep := h.verify(); len(rep.Dangling) > 0 {
					t.Errorf("dangling intents: %+v", rep)
				}
				// No direct request of before is left to be started later.
				open := must[*gate.StatusResult](t)(p.Pending(t.Context()))
				for _, r := range open.Requests {
					if r.Queue == "mail" {
						t.Errorf("still open: %+v", r)
					}
				}
				h.gate.Close() // a connection may still lead to what stood there
				h.reopen()
				finish(t, h, res.RequestID, shown.Request.Status)
				must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: direct, Reason: "r"}))
				h.verify()
			})
		}
	}
}

// finish runs a request that is still open to its end.
func finish(t *testing.T, h *house, id, status string) {
	t.Helper()
	switch status {
	case "approved", "running":
		res := must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), id, nil))
		if res.Status != "done" {
			t.Errorf("afterwards it is %+v", res)
		}
	case "void", "halted", "partial":
	default:
		t.Errorf("it is %s", status)
	}
}

// A locked database is waited for, and then said.
func TestLockedTable(t *testing.T) {
	h := open(t, standard)
	res, _ := approved(t, h)
	conn, err := h.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	run, err := h.person("ana").Run(t.Context(), res.RequestID, nil)
	if err == nil || run.Sent > 0 || strings.Contains(err.Error(), "SQLITE") {
		t.Errorf("got %+v %v", run, err)
	}
	if _, err := conn.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	finish(t, h, res.RequestID, run.Status)
	h.verify()
}

// A person can say no while the store is down, and when its queue has left the
// policy.
func TestDenyWithoutStore(t *testing.T) {
	h := open(t, standard)
	ask := func() *gate.RequestResult {
		ids := h.kill("orders", 1, "TimeoutError: x", `{}`)
		return must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", IDs: ids, Reason: "r"}))
	}
	a, b := ask(), ask()
	if err := os.Rename(filepath.Join(h.dir, "jobs.db"), filepath.Join(h.dir, "away")); err != nil {
		t.Fatal(err)
	}
	h.gate.Close()
	h.reopen()
	got := must[*gate.RequestResult](t)(h.person("ana").Deny(t.Context(), a.RequestID, "no"))
	if got.Status != "denied" {
		t.Errorf("got %+v", got)
	}
	h.policy(strings.Replace(standard, "  orders:\n", "  renamed:\n", 1))
	_, err := h.person("ana").Approve(t.Context(), b.RequestID, b.Digest, "")
	refused(t, err, gate.CodeState, "no queue orders any more")
	_, err = h.person("carla").Deny(t.Context(), b.RequestID, "no")
	refused(t, err, gate.CodePolicy, "carla may not decide")
	got = must[*gate.RequestResult](t)(h.person("ana").Deny(t.Context(), b.RequestID, "no"))
	if got.Status != "denied" {
		t.Errorf("got %+v", got)
	}
	h.verify()
}

// Many callers in two processes at once: each letter is sent at most once, the
// hour's limit holds, and the log accounts for all of it.
func TestManyAtOnce(t *testing.T) {
	h := open(t, standard)
	other := &house{t: t, dir: h.dir, db: h.db, clock: h.clock}
	other.reopen()
	h.exec(`CREATE TABLE sent (id INTEGER); CREATE TRIGGER count_sends AFTER UPDATE OF status ON jobs WHEN new.status = 'queued' BEGIN INSERT INTO sent VALUES (new.id); END`)
	ids := h.kill("mail", 24, "TimeoutError: x", `{"id":#}`)
	var wg sync.WaitGroup
	var direct, waiting atomic.Int64
	for i := range 32 {
		g := h.gate
		if i%2 == 1 {
			g = other.gate
		}
		wg.Go(func() {
			a := g.Agent(gate.Caller{Principal: "luis", Session: fmt.Sprint(i)})
			part := []string{ids[i%24], ids[(i*5+1)%24]}
			if part[0] == part[1] {
				part = part[:1]
			}
			res, err := a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: part, Reason: "r"})
			if err != nil {
				if r, ok := errors.AsType[*gate.Refusal](err); !ok || r.Code != gate.CodeClaimed && r.Code != gate.CodeNoLetter && r.Code != gate.CodeLimit {
					t.Errorf("got %v", err)
				}
				return
			}
			direct.Add(int64(res.Sent))
			waiting.Add(int64(res.Waiting))
		})
	}
	wg.Wait()
	var sends, distinct int64
	if err := h.db.QueryRow(`SELECT count(*), count(DISTINCT id) FROM sent`).Scan(&sends, &distinct); err != nil {
		t.Fatal(err)
	}
	if sends != distinct || sends > 8 || sends != direct.Load() || sends < 7 {
		t.Errorf("%d sends of %d letters, %d were told, the hour allows 8 in requests of two", sends, distinct, direct.Load())
	}
	if waiting.Load() == 0 {
		t.Error("nothing was left for a person")
	}
	h.verify()
}

// The caller goes away at any moment of a request: its plan is either run to an
// end or gives its letters back.
func TestTakenBack(t *testing.T) {
	h := open(t, strings.Replace(standard, "per_hour: 8, per_message: 1, cooldown: 10m", "per_hour: 1000", 1))
	for i := range 25 {
		for _, queue := range []string{"mail", "orders"} {
			ids := h.kill(queue, 2, "TimeoutError: x", `{"id":#}`)
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(time.Duration(i)*500*time.Microsecond, cancel)
			res, err := h.agent().RequestRedrive(ctx, gate.RedriveArgs{Queue: queue, IDs: ids, Reason: "r", IdempotencyKey: queue + fmt.Sprint(i)})
			timer.Stop()
			cancel()
			if err == nil && res.RequestID != "" {
				continue
			}
			if n := h.rows(`SELECT count(*) FROM items WHERE open = 1 AND id IN (?, ?)`, ids[0], ids[1]); n != 0 {
				t.Errorf("after %v %d letters stay claimed", err, n)
			}
		}
	}
	h.gate.Close()
	if n := h.rows(`SELECT count(*) FROM plans WHERE mode = 'direct' AND state IN ('approved', 'running', 'stopping')`); n != 0 {
		t.Errorf("%d direct requests were left behind", n)
	}
	h.verify()
}

// A run that takes longer than a call may answers "running"; the end of the
// session stops it between two batches and releases the rest.
func TestLongRun(t *testing.T) {
	h := open(t, "  mail:\n    source: {backend: app, queue: mail}\n    redrive: direct\n    handler: {idempotent: true}\n    limits: {per_hour: 100}\n    send: {rate: 2/s}\n")
	h.wait = time.Millisecond
	h.gate.Close()
	h.reopen()
	ids := h.kill("mail", 40, "TimeoutError: x", `{"id":#}`)
	a := h.agent()
	res := must[*gate.RequestResult](t)(a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: ids, Reason: "r"}))
	if res.Status != "running" {
		t.Fatalf("got %+v", res)
	}
	st := must[*gate.StatusResult](t)(a.GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
	if got := st.Requests[0]; got.Status != "running" && got.Status != "approved" {
		t.Errorf("got %+v", got)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = must[*gate.StatusResult](t)(h.agent().GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
	got := st.Requests[0]
	if got.Status != "halted" && got.Status != "cancelled" || got.Sent == 40 || len(h.work()) != got.Sent {
		t.Errorf("got %+v", got)
	}
	if n := h.rows(`SELECT count(*) FROM items WHERE open = 1`); n != 0 {
		t.Errorf("%d letters stay claimed", n)
	}
	// A session that has ended starts nothing.
	_, err := a.RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "mail", IDs: ids[39:], Reason: "r"})
	refused(t, err, gate.CodeState, "session ends")
	if n := h.rows(`SELECT count(*) FROM items WHERE open = 1`); n != 0 {
		t.Errorf("%d letters stay claimed", n)
	}
	h.verify()
}
