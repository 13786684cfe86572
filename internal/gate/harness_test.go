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
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// house is a real SQLite job table with a policy and a state folder.
type house struct {
	t     *testing.T
	dir   string
	db    *sql.DB
	clock *clock
	gate  *gate.Gate
	wait  time.Duration // how long a call waits for a direct run, 0: as usual

	noReceipts bool // the job table keeps none: what was sent cannot be proved
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

const table = `CREATE TABLE jobs (
	id INTEGER PRIMARY KEY, queue TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL, status TEXT NOT NULL,
	priority INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 3,
	error TEXT, created_at TEXT NOT NULL, failed_at TEXT);
	CREATE TABLE runs (id INTEGER, payload TEXT);`

const policyHead = `version: 1
state: %s
backends:
  app:
    type: sqlite
    file: jobs.db
    jobs:
      table: jobs
      id: id
      queue: queue
      job: kind
      payload: payload
      dead: {column: status, in: [failed]}
      attempts: attempts
      max_attempts: max_attempts
      error: error
      enqueued_at: created_at
      dead_at: failed_at
      redrive: {update: {set: {status: queued, failed_at: null}}}
people: {ana: {}, luis: {}}
groups: {oncall: [ana, luis]}
errors:
  - {class: permanent, code: bad-currency, match: 'unknown currency'}
  - {class: transient, code: timeout, match: 'Timeout'}
queues:
`

// standard is the policy that most tests use.
const standard = `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    rules:
      - {name: poison, when: {error: permanent, patched: false}, do: never}
    approval: {from: [oncall], deny_for: 1h}
    patch: {allow: [/currency, /items/*/sku]}
    redact: {paths: [/card], text: ['\b\d{13,19}\b'], people: shown}
  mail:
    source: {backend: app, queue: mail}
    redrive: direct
    handler: {idempotent: true}
    limits: {per_plan: 5, per_hour: 8, per_message: 1, cooldown: 10m}
  frozen:
    source: {backend: app, queue: frozen}
`

// began is the time at which every house is opened, so that two houses of one
// test give the same answers.
var began = time.Now().UTC().Truncate(time.Second)

func open(t *testing.T, queues string) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), clock: &clock{at: began}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "jobs.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	h.db = db
	t.Cleanup(func() { db.Close() })
	h.exec(table)
	h.policy(queues)
	h.reopen()
	return h
}

func (h *house) policy(queues string) {
	h.t.Helper()
	h.write(policyHead + queues)
}

// write writes a whole policy, with %s for the state folder.
func (h *house) write(format string) {
	h.t.Helper()
	text := strings.Replace(format, "%s", filepath.Join(h.dir, "state"), 1)
	if h.noReceipts {
		text = strings.Replace(text, "    file: jobs.db\n", "    file: jobs.db\n    receipts: none\n", 1)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// reopen is a new process on the same state folder.
func (h *house) reopen() {
	h.t.Helper()
	h.openWith(sqljobs.SQLite())
}

func (h *house) openWith(d backends.Driver) {
	h.t.Helper()
	g, err := gate.Open(context.Background(), gate.Options{
		PolicyPath: filepath.Join(h.dir, "policy.yaml"),
		Drivers:    map[string]backends.Driver{"sqlite": d},
		Clock:      h.clock.now,
		DirectWait: h.wait,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.gate = g
	h.t.Cleanup(func() { g.Close() })
}

func (h *house) agent() *gate.Agent {
	return h.gate.Agent(gate.Caller{Principal: "luis", OSUser: "dev", Client: "test 1", Session: "s1"})
}

func (h *house) person(name string) *gate.Person {
	return h.gate.Person(gate.Caller{Principal: name, OSUser: "dev"})
}

func (h *house) exec(query string, args ...any) {
	h.t.Helper()
	if _, err := h.db.Exec(query, args...); err != nil {
		h.t.Fatal(err)
	}
}

// kill adds n dead jobs and returns their ids. # in the payload is the id.
func (h *house) kill(queue string, n int, message, payload string) (ids []string) {
	h.t.Helper()
	tx, err := h.db.Begin()
	if err != nil {
		h.t.Fatal(err)
	}
	defer tx.Rollback()
	for range n {
		res, err := tx.Exec(`INSERT INTO jobs(queue, kind, payload, status, attempts, error, created_at) VALUES (?, 'charge', '', 'failed', 3, ?, ?)`,
			queue, message, h.clock.now().Add(-time.Hour).Format(time.RFC3339))
		if err != nil {
			h.t.Fatal(err)
		}
		id, _ := res.LastInsertId()
		died := h.clock.now().Add(-time.Minute + time.Duration(id)*time.Millisecond)
		_, err = tx.Exec(`UPDATE jobs SET payload = ?, failed_at = ? WHERE id = ?`, strings.ReplaceAll(payload, "#", fmt.Sprint(id)), died.Format("2006-01-02T15:04:05.000Z"), id)
		if err != nil {
			h.t.Fatal(err)
		}
		ids = append(ids, fmt.Sprint(id))
	}
	if err := tx.Commit(); err != nil {
		h.t.Fatal(err)
	}
	return ids
}

// work runs what is queued, as a worker would, and returns the bodies by id.
func (h *house) work() map[string]string {
	h.t.Helper()
	rows, err := h.db.Query(`UPDATE jobs SET status = 'done' WHERE status = 'queued' RETURNING id, payload`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var id, payload string
		if err := rows.Scan(&id, &payload); err != nil {
			h.t.Fatal(err)
		}
		out[id] = payload
	}
	return out
}

func (h *house) verify() audit.Report {
	h.t.Helper()
	folder, err := durable.Open(filepath.Join(h.dir, "state"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer folder.Close()
	rep, err := audit.Verify(context.Background(), folder, audit.VerifyOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	if rep.Status == audit.Tampered || rep.Status == audit.Unreadable || len(rep.Dangling) > 0 {
		h.t.Fatalf("the log does not verify: %+v", rep)
	}
	return rep
}

// log is every line of the log.
func (h *house) log() (out []audit.Record) {
	h.t.Helper()
	folder, err := durable.Open(filepath.Join(h.dir, "state"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer folder.Close()
	for rec, err := range audit.Read(context.Background(), folder, audit.Query{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

func refused(t *testing.T, err error, code gate.Code, words ...string) {
	t.Helper()
	r, ok := errors.AsType[*gate.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal %s", err, code)
	}
	if r.Code != code {
		t.Errorf("got code %s (%s), want %s", r.Code, r.Sentence, code)
	}
	for _, w := range words {
		if !strings.Contains(r.Sentence, w) {
			t.Errorf("%q lacks %q", r.Sentence, w)
		}
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// rows counts in the ledger.
func (h *house) rows(query string, args ...any) (n int) {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "state", "ledger.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}
