package sqljobs_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/backendtest"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
)

// fill decodes a section of a policy as strictly as the policy's own loader.
func fill(t testing.TB, text string, into any) {
	t.Helper()
	if err := decode(text, into); err != nil {
		t.Fatalf("decoding the section: %v", err)
	}
}

func decode(text string, into any) error {
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	return dec.Decode(into)
}

// file is a SQLite database in a folder of its own.
type file struct {
	path string
	db   *sql.DB
}

func newFile(t testing.TB, ddl string) *file {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(4000)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &file{path, db}
	f.exec(t, ddl)
	return f
}

func (f *file) exec(t testing.TB, q string, args ...any) {
	t.Helper()
	if _, err := f.db.Exec(q, args...); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
}

func (f *file) text(t testing.TB, q string, args ...any) string {
	t.Helper()
	var s string
	if err := f.db.QueryRow(q, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return s
}

func (f *file) jobs(t testing.TB, q string) []backendtest.Job {
	t.Helper()
	rows, err := f.db.Query(q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	var out []backendtest.Job
	for rows.Next() {
		var j backendtest.Job
		if err := rows.Scan(&j.ID, &j.Body); err != nil {
			t.Fatal(err)
		}
		out = append(out, j)
	}
	return out
}

// open opens the store of a mapping.
func (f *file) open(t testing.TB, section string, queues map[string]string) backends.Store {
	t.Helper()
	s, err := sqljobs.SQLite().Open(f.config(t, section, queues))
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return s
}

func (f *file) config(t testing.TB, section string, queues map[string]string) backends.Config {
	t.Helper()
	d := sqljobs.SQLite()
	b := d.NewBackend()
	fill(t, section, b)
	c := backends.Config{Name: "app", Backend: b, Sources: map[string]any{}, Folder: filepath.Dir(f.path)}
	for name, queue := range queues {
		c.Sources[name] = &sqljobs.Source{Queue: queue}
	}
	return c
}

const sqliteDDL = `CREATE TABLE jobs (
	id INTEGER PRIMARY KEY, queue TEXT NOT NULL, job_type TEXT, payload TEXT NOT NULL,
	status TEXT NOT NULL, attempts INTEGER NOT NULL, max_attempts INTEGER NOT NULL, last_error TEXT,
	priority INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL, tried_at TEXT, failed_at TEXT, locked_by TEXT, run_at TEXT);
CREATE INDEX dead ON jobs (queue, failed_at DESC, id DESC) WHERE status = 'failed' AND failed_at IS NOT NULL;`

const sqliteMapping = `
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
  last_attempt_at: tried_at
  dead_at: failed_at
  group: locked_by
  redrive:
    update:
      set: {status: queued, failed_at: null, locked_by: null, run_at: {now: true}}
`

const clock = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?)"

// sqliteBench is a job table with rows that are updated.
func sqliteBench(t testing.TB) backendtest.Bench {
	f := newFile(t, sqliteDDL)
	deaths := 0
	kill := func(t testing.TB, queue string, l backendtest.Letter) string {
		deaths++
		return f.text(t, `INSERT INTO jobs (queue, job_type, payload, status, attempts, max_attempts, last_error, created_at, tried_at, failed_at, locked_by)
			VALUES (?, ?, ?, 'failed', 3, 3, ?, `+clock+`, `+clock+`, `+clock+`, 'w1') RETURNING id`,
			queue, l.Job, string(l.Body), l.Error, "-3600 seconds", "-3600 seconds", fmt.Sprintf("%+.3f seconds", -3600+float64(deaths)/1000))
	}
	return backendtest.Bench{
		Queue: "jobs",
		Open: func(t testing.TB) backends.Store {
			return f.open(t, sqliteMapping, map[string]string{"jobs": "default", "mail": "mail"})
		},
		Kill: func(t testing.TB, ls []backendtest.Letter) (ids []string) {
			for _, l := range ls {
				ids = append(ids, kill(t, "default", l))
			}
			return ids
		},
		Revive: func(t testing.TB, id string) {
			f.exec(t, "UPDATE jobs SET status = 'queued', attempts = 0, failed_at = NULL WHERE id = ?", id)
		},
		KillAgain: func(t testing.TB, id string) {
			deaths++
			f.exec(t, "UPDATE jobs SET status = 'failed', attempts = 3, failed_at = "+clock+" WHERE id = ?", fmt.Sprintf("%+.3f seconds", -1800+float64(deaths)/1000), id)
		},
		Touch:         func(t testing.TB, id string) { f.exec(t, "UPDATE jobs SET priority = priority + 1 WHERE id = ?", id) },
		Remove:        func(t testing.TB, id string) { f.exec(t, "DELETE FROM jobs WHERE id = ?", id) },
		KillElsewhere: func(t testing.TB, l backendtest.Letter) string { return kill(t, "mail", l) },
		Ready: func(t testing.TB) []backendtest.Job {
			return f.jobs(t, "SELECT id, payload FROM jobs WHERE status = 'queued' AND queue = 'default'")
		},
		Take:     func(t testing.TB) { f.exec(t, "DELETE FROM jobs WHERE status = 'queued'") },
		OtherIDs: []string{"x", "1e3", "99999999999999999999", "1.0", "null"},
		Facts: backendtest.Facts{Reason: true, Made: true, Limit: true, Enqueued: true, LastAttempt: true, Dead: true, Job: true,
			KeepsBytes: true, Patches: true},
	}
}

func TestSQLiteUpdate(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, sqliteBench(t))
}
