package sqljobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/backendtest"
)

const graveDDL = `CREATE TABLE work (id INTEGER PRIMARY KEY, topic TEXT, body BLOB NOT NULL, tries INTEGER NOT NULL);
	CREATE TABLE grave (tenant TEXT NOT NULL, no INTEGER NOT NULL, topic TEXT, body BLOB NOT NULL, error TEXT, note TEXT, died_ms INTEGER NOT NULL, sent INTEGER NOT NULL DEFAULT 0,
		PRIMARY KEY (tenant, no)) WITHOUT ROWID;`

const graveMapping = `
file: jobs.db
receipts: proofs
jobs:
  table: grave
  id: [tenant, no]
  payload: body
  dead: {column: sent, in: [0]}
  error: {column: error, format: json, path: [m]}
  dead_at: {column: died_ms, unit: ms}
  redrive:
    insert:
      into: work
      columns: {topic: topic, body: body}
      set: {tries: 0}
      returning: id
      mark: {sent: 1}
`

// graveBench keeps dead letters in a table of their own, with bytes for bodies
// and numbers for times.
func graveBench(t testing.TB) backendtest.Bench {
	f := newFile(t, graveDDL)
	deaths := 0
	died := func() int64 { deaths++; return time.Now().Add(-time.Hour).UnixMilli() + int64(deaths) }
	const at = " WHERE json_array(tenant, CAST(no AS TEXT)) = ?"
	return backendtest.Bench{
		Queue: "jobs",
		Open: func(t testing.TB) backends.Store {
			return f.open(t, graveMapping, map[string]string{"jobs": ""})
		},
		Kill: func(t testing.TB, ls []backendtest.Letter) (ids []string) {
			for _, l := range ls {
				d := died()
				ids = append(ids, f.text(t, `INSERT INTO grave (tenant, no, body, error, died_ms) VALUES ('a"b', ?, ?, json_object('m', ?), ?) RETURNING json_array(tenant, CAST(no AS TEXT))`,
					deaths, l.Body, l.Error, d))
			}
			return ids
		},
		Revive: func(t testing.TB, id string) {
			f.exec(t, "INSERT INTO work (body, tries) SELECT body, 0 FROM grave"+at, id)
			f.exec(t, "UPDATE grave SET sent = 1"+at, id)
		},
		KillAgain: func(t testing.TB, id string) {
			f.exec(t, "DELETE FROM work WHERE body = (SELECT body FROM grave"+at+")", id)
			f.exec(t, fmt.Sprintf("UPDATE grave SET sent = 0, died_ms = %d", died())+at, id)
		},
		Touch:    func(t testing.TB, id string) { f.exec(t, "UPDATE grave SET note = 'x'"+at, id) },
		Remove:   func(t testing.TB, id string) { f.exec(t, "DELETE FROM grave"+at, id) },
		Ready:    func(t testing.TB) []backendtest.Job { return f.jobs(t, "SELECT id, body FROM work") },
		Take:     func(t testing.TB) { f.exec(t, "DELETE FROM work") },
		OtherIDs: []string{"x", `["a"]`, `["a\"b","x"]`, `["a\"b", "1"]`},
		Facts:    backendtest.Facts{Reason: true, Dead: true, KeepsBytes: true, Patches: true},
	}
}

func TestSQLiteInsert(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, graveBench(t))
}

// TestSQLiteRows: one row that is refused keeps no other back, triggers are
// named, and without receipts a batch that is all gone stays in doubt.
func TestSQLiteRows(t *testing.T) {
	f := newFile(t, sqliteDDL+`CREATE UNIQUE INDEX one ON jobs (job_type) WHERE status = 'queued';
		CREATE TRIGGER no BEFORE UPDATE ON jobs WHEN NEW.status = 'queued' AND NEW.id = 3 BEGIN SELECT RAISE(ABORT, 'no'); END;
		INSERT INTO jobs (id, queue, job_type, payload, status, attempts, max_attempts, created_at, failed_at) VALUES
			(1, 'default', 'a', '{}', 'failed', 3, 3, '2026-01-02 03:04:05', '2026-01-02 03:04:05'), (2, 'default', 'b', '{}', 'failed', 3, 3, '2026-01-02T03:04:05Z', '2026-01-02 03:04:06'),
			(3, 'default', 'c', '{}', 'failed', 3, 3, '2026-01-02 04:04:05+01:00', '2026-01-02 03:04:07'), (4, 'default', 'b', '{}', 'queued', 3, 3, '', NULL)`)
	st := f.open(t, strings.Replace(sqliteMapping, "jobs:", "receipts: none\njobs:", 1), map[string]string{"jobs": "default"})
	defer st.Close()
	warnings, err := checkUp(t, st)
	if err != nil || !strings.Contains(warnings, "trigger no") || !strings.Contains(warnings, "receipts") || strings.Contains(warnings, "CREATE INDEX") {
		t.Errorf("the check says %q (%v)", warnings, err)
	}
	for l, err := range st.Scan(t.Context(), backends.Query{Queue: "jobs"}) {
		if want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); err != nil || !l.Times.Enqueued.Equal(want) {
			t.Errorf("the letter %s was enqueued at %s, want %s (%v)", l.ID, l.Times.Enqueued, want, err)
		}
	}
	items := jobItems(t, st)
	l, err := redrive(t, st, items, "4")
	if err != nil {
		t.Fatalf("redriving: %v", err)
	}
	l.want(t, "done", "failed conflict", "failed refused")
	if got := f.text(t, "SELECT attempts || ' ' || max_attempts || ' ' || (run_at <> '') FROM jobs WHERE id = 1"); got != "3 7 1" {
		t.Errorf("the row sent has %s", got)
	}
	if err := st.Resolve(t.Context(), "jobs", doubts(items[:1], l.ticket), l); err != nil {
		t.Fatalf("resolving: %v", err)
	}
	l.want(t, "unknown no_answer")
	if err := st.Resolve(t.Context(), "jobs", doubts(items[:2], "another"), l); err != nil {
		t.Fatalf("resolving: %v", err)
	}
	l.want(t, "claimed", "claimed")
}

// TestSQLiteBusy: a database that somebody else writes to is busy, not broken.
func TestSQLiteBusy(t *testing.T) {
	f := newFile(t, sqliteDDL)
	backend := strings.Replace(sqliteMapping, "jobs:\n", "timeouts: {lock: 50ms}\njobs:\n", 1)
	st := f.open(t, backend, map[string]string{"jobs": "default"})
	defer st.Close()
	if _, err := st.Depth(t.Context(), "jobs"); err != nil {
		t.Fatalf("looking: %v", err)
	}
	conn, err := f.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Depth(t.Context(), "jobs"); err != nil {
		t.Errorf("looking while somebody writes gives %v", err)
	}
	if _, err := redrive(t, st, nil, "reset"); backends.CodeOf(err) != backends.Busy {
		t.Errorf("a redrive while somebody writes gives %v", err)
	}
}
