package tools

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

const jobTable = `CREATE TABLE jobs (
	id INTEGER PRIMARY KEY, queue TEXT NOT NULL, job_type TEXT, payload TEXT NOT NULL, status TEXT NOT NULL,
	attempts INTEGER NOT NULL, max_attempts INTEGER NOT NULL, last_error TEXT, created_at TEXT NOT NULL, failed_at TEXT);
CREATE INDEX dead ON jobs (queue, failed_at DESC, id DESC) WHERE status = 'failed' AND failed_at IS NOT NULL;`

// housePolicy has a queue for each answer that a policy can give.
const housePolicy = `version: 1
state: %s
backends:
  app:
    type: sqlite
    file: jobs.db
    jobs:
      table: jobs
      id: id
      queue: queue
      job: job_type
      payload: payload
      dead: {column: status, in: [failed]}
      attempts: attempts
      max_attempts: max_attempts
      error: last_error
      enqueued_at: created_at
      dead_at: failed_at
      redrive: {update: {set: {status: queued, failed_at: null}}}
people: {ana: {}}
groups: {oncall: [ana]}
errors:
  - {class: permanent, code: truncated-mp4, match: '(?i)moov atom not found'}
  - {class: transient, code: timeout, match: '(?i)timed out'}
queues:
  mail:
    source: {backend: app, queue: mail}
    redrive: direct
    handler: {idempotent: true}
    limits: {per_plan: 50, per_hour: 200}
    patch: {allow: [/id], direct: true}
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    handler: {idempotent: true}
    rules: [{name: poison, when: {error: permanent, patched: false}, do: never}]
    approval: {from: [oncall]}
    redact: {paths: [/card]}
    patch: {allow: [/currency]}
  locked:
    source: {backend: app, queue: locked}
`

// house is a job table, a policy, an open gate and one agent connected over a
// pipe.
type house struct {
	t      *testing.T
	folder string
	db     *sql.DB
	gate   *gate.Gate
	agent  *gate.Agent
	in     *io.PipeWriter
	out    *bufio.Reader
	done   chan error
	stderr strings.Builder
	n      int
	more   string // queues of the policy besides
}

func newHouse(t *testing.T) *house {
	h := newUnconnected(t)
	h.connect()
	return h
}

func newUnconnected(t *testing.T) *house {
	return newHouseWith(t, "")
}

// newHouseWith is not connected either, and its policy has more queues.
func newHouseWith(t *testing.T, queues string) *house {
	h := &house{t: t, folder: t.TempDir(), done: make(chan error, 1), more: queues}
	h.table()
	h.open()
	t.Cleanup(func() { h.agent.Close(context.Background()) })
	return h
}

func (h *house) table() {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.folder, "jobs.db")+"?_pragma=busy_timeout(4000)&_pragma=synchronous(0)")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { db.Close() })
	h.db = db
	h.exec(jobTable)
	h.kill(1, "mail", `{"id": 9007199254740993, "to":"a@example.org"}`, "SMTP timed out")
	h.kill(2, "mail", `{"id": 2}`, "SMTP timed out")
	h.kill(3, "orders", `{"currency":"EURO","card":"4111111111111111"}`, "unknown currency <b>EURO</b>")
	h.kill(4, "orders", `{"src":"x.mp4"}`, "moov atom not found\x1b[31m")
	h.kill(5, "locked", `{}`, "no reason")
}

func (h *house) exec(q string, args ...any) {
	h.t.Helper()
	if _, err := h.db.Exec(q, args...); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) kill(id int, queue, payload, reason string) {
	h.exec(`INSERT INTO jobs VALUES (?, ?, 'send', ?, 'failed', 3, 3, ?, '2026-11-01T10:00:00.000Z', ?)`,
		id, queue, payload, reason, fmt.Sprintf("2026-11-01T11:00:0%d.000Z", id))
}

func (h *house) status(id int) (s string) {
	if err := h.db.QueryRow("SELECT status FROM jobs WHERE id = ?", id).Scan(&s); err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *house) open() {
	path := filepath.Join(h.folder, "policy.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, housePolicy+h.more, h.state()), 0o600); err != nil {
		h.t.Fatal(err)
	}
	g, err := gate.Open(h.t.Context(), gate.Options{PolicyPath: path, Drivers: map[string]backends.Driver{"sqlite": sqljobs.SQLite()}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.gate = g
	h.agent = g.Agent(gate.Caller{Principal: "luis", Host: "test", Session: "s1"})
}

func (h *house) state() string { return filepath.Join(h.folder, "state") }

func (h *house) connect() {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h.in, h.out = inW, bufio.NewReaderSize(outR, 1<<20)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		h.done <- Serve(ctx, h.agent, inR, outW, Options{Version: "test", Stderr: &h.stderr})
		outW.Close()
	}()
	h.t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
	})
}

// reply is one line of the server.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Result struct {
		IsError           bool `json:"isError"`
		Content           []struct{ Text string }
		StructuredContent json.RawMessage `json:"structuredContent"`
	} `json:"result"`
	Error *struct {
		Code    int
		Message string
	} `json:"error"`
	raw string
}

func (r reply) text() string {
	if len(r.Result.Content) != 1 {
		return ""
	}
	return r.Result.Content[0].Text
}

func (h *house) write(line string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) read() (r reply) {
	h.t.Helper()
	raw, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatalf("reading an answer: %v", err)
	}
	r.raw = raw
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		h.t.Fatalf("answer %q: %v", raw, err)
	}
	return r
}

func (h *house) ask(method, params string) reply {
	h.t.Helper()
	h.n++
	h.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, h.n, method, params))
	return h.read()
}

func (h *house) call(tool, args string) reply {
	h.t.Helper()
	return h.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

func (h *house) close() {
	h.t.Helper()
	h.in.Close()
	if err := <-h.done; err != nil {
		h.t.Errorf("Serve = %v", err)
	}
}

// record is what tests look at of a line of the audit log.
type record struct {
	Phase, Tool, Queue, Actor, Client, Session, Outcome, Why, Err string

	line string
}

// records are the lines of the audit log that are calls, and what was decided.
func (h *house) records() (all []record) {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.state(), "audit", "*.jsonl"))
	if err != nil || len(files) == 0 {
		h.t.Fatalf("no audit log: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			h.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			r := record{line: line}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				h.t.Fatalf("audit line %q: %v", line, err)
			}
			all = append(all, r)
		}
	}
	return all
}

func (h *house) count(phase, tool string) (n int) {
	for _, r := range h.records() {
		if r.Phase == phase && r.Tool == tool {
			n++
		}
	}
	return n
}
