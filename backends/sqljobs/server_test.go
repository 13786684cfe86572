package sqljobs_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/backendtest"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
)

// server is the connection string of a superuser to one of the servers that
// test.sh starts.
func server(t testing.TB, name string) *url.URL {
	t.Helper()
	dsn := os.Getenv(name)
	if dsn == "" {
		t.Fatalf("%s is not set: run ./testdata/test.sh, which starts the servers that the tests need, or set REDRIVE_TEST_POSTGRES, REDRIVE_TEST_PG_REPLICA and REDRIVE_TEST_PGBOUNCER to what its head says", name)
	}
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		t.Fatalf("%s is no URL with a host", name)
	}
	return u
}

// schema is a schema of the test server with a role that reads and one that
// writes, which have only what a test grants them.
type schema struct {
	name, reader, writer string
	dsn                  *url.URL // the server itself
	reads, writes        *url.URL // where the roles of a store connect to

	mu    sync.Mutex
	admin *pgx.Conn
}

func newSchema(t testing.TB) *schema {
	t.Helper()
	u := server(t, "REDRIVE_TEST_POSTGRES")
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatalf("connecting to the test server: %v", err)
	}
	name := "t_" + strings.ToLower(rand.Text()[:12])
	s := &schema{name: name, reader: name + "_r", writer: name + "_w", dsn: u, reads: u, writes: u, admin: conn}
	t.Cleanup(func() {
		s.admin.Exec(context.Background(), s.fill("DROP SCHEMA SCHEMA CASCADE; DROP OWNED BY READER, WRITER; DROP ROLE READER, WRITER"))
		s.admin.Close(context.Background())
	})
	s.exec(t, `CREATE SCHEMA SCHEMA; CREATE ROLE READER LOGIN PASSWORD 'pw'; CREATE ROLE WRITER LOGIN PASSWORD 'pw';
		GRANT USAGE ON SCHEMA SCHEMA TO READER, WRITER; SET lock_timeout = '4s'; SET synchronous_commit = off; SET search_path = SCHEMA, pg_catalog;
		CREATE TABLE receipts (ticket text PRIMARY KEY, sent_at timestamptz NOT NULL, queue text NOT NULL, items integer NOT NULL, new_ids jsonb NOT NULL);
		GRANT SELECT, INSERT ON receipts TO WRITER`)
	return s
}

// fill puts the names of the schema and of its roles into SQL.
func (s *schema) fill(q string) string {
	return strings.NewReplacer("SCHEMA SCHEMA", "SCHEMA "+s.name, "SCHEMA.", s.name+".", "SCHEMA,", s.name+",", "READER", s.reader, "WRITER", s.writer).Replace(q)
}

func (s *schema) exec(t testing.TB, q string, args ...any) int64 {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	tag, err := s.admin.Exec(context.Background(), s.fill(q), args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return tag.RowsAffected()
}

func (s *schema) text(t testing.TB, q string, args ...any) (out string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admin.QueryRow(context.Background(), s.fill(q), args...).Scan(&out); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return out
}

func (s *schema) jobs(t testing.TB, q string) []backendtest.Job {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, err := s.admin.Query(context.Background(), s.fill(q))
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	jobs, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (j backendtest.Job, err error) {
		raw := r.RawValues()
		j.ID = string(raw[0])
		return j, r.Scan(nil, &j.Body)
	})
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return jobs
}

// as is the connection string of a role, to where it connects.
func (s *schema) as(role string) string {
	u := *s.reads
	if role == s.writer {
		u = *s.writes
	}
	u.User = url.UserPassword(role, "pw")
	return u.String()
}

func (s *schema) env(name string) (string, bool) {
	dsn, ok := map[string]string{"READ_DSN": s.as(s.reader), "WRITE_DSN": s.as(s.writer)}[name]
	return dsn, ok
}

func (s *schema) config(t testing.TB, section string, queues map[string]string) backends.Config {
	t.Helper()
	b := sqljobs.Postgres().NewBackend()
	fill(t, s.fill("read_env: READ_DSN\nwrite_env: WRITE_DSN\n"+section), b)
	c := backends.Config{Name: "app", Backend: b, Sources: map[string]any{}, Env: s.env}
	for name, queue := range queues {
		c.Sources[name] = &sqljobs.Source{Queue: queue}
	}
	return c
}

func (s *schema) open(t testing.TB, section string, queues map[string]string) backends.Store {
	t.Helper()
	st, err := sqljobs.Postgres().Open(s.config(t, section, queues))
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return st
}

// shape is a job table of the field, and how the world uses it.
type shape struct {
	ddl     string
	mapping string
	queues  map[string]string
	kill    string // $1 queue $2 body $3 error $4 job $5 time of death; answers the id
	revive  string // $1 id
	again   string // $1 id $2 time of death
	touch   string // $1 id
	remove  string // $1 id
	ready   string // answers id and body
	take    string
	other   []string
	facts   backendtest.Facts
}

func (sh shape) bench(t testing.TB, s *schema) backendtest.Bench {
	s.exec(t, sh.ddl)
	deaths := 0
	died := func() time.Time {
		deaths++
		return time.Now().UTC().Truncate(time.Second).Add(-time.Hour + time.Duration(deaths)*time.Millisecond)
	}
	kill := func(t testing.TB, queue string, l backendtest.Letter) string {
		return s.text(t, sh.kill, queue, string(l.Body), l.Error, l.Job, died())
	}
	one := func(q string) func(testing.TB, string) {
		return func(t testing.TB, id string) {
			t.Helper()
			if n := s.exec(t, q, id); n != 1 {
				t.Fatalf("%s reached %d rows for %s", q, n, id)
			}
		}
	}
	b := backendtest.Bench{
		Queue: "jobs",
		Open:  func(t testing.TB) backends.Store { return s.open(t, sh.mapping, sh.queues) },
		Kill: func(t testing.TB, ls []backendtest.Letter) (ids []string) {
			for _, l := range ls {
				ids = append(ids, kill(t, "default", l))
			}
			return ids
		},
		Revive: one(sh.revive),
		KillAgain: func(t testing.TB, id string) {
			if n := s.exec(t, sh.again, id, died()); n == 0 {
				t.Fatalf("%s reached no row for %s", sh.again, id)
			}
		},
		Touch: one(sh.touch), Remove: one(sh.remove),
		Ready:    func(t testing.TB) []backendtest.Job { return s.jobs(t, sh.ready) },
		Take:     func(t testing.TB) { s.exec(t, sh.take) },
		OtherIDs: sh.other,
		Facts:    sh.facts,
	}
	if len(sh.queues) > 1 {
		b.KillElsewhere = func(t testing.TB, l backendtest.Letter) string { return kill(t, "mail", l) }
	}
	return b
}

var twoQueues = map[string]string{"jobs": "default", "mail": "mail"}

var everything = backendtest.Facts{Reason: true, Made: true, Limit: true, Enqueued: true, LastAttempt: true, Dead: true, Job: true, KeepsBytes: true, Patches: true}

// facts without some of everything.
func without(change func(*backendtest.Facts)) backendtest.Facts {
	f := everything
	change(&f)
	return f
}

// dropWriter takes the role that writes out of a section.
func dropWriter(c backends.Config) { c.Backend.(*sqljobs.PostgresBackend).WriteEnv = "" }

func mustOpen(t testing.TB, c backends.Config) backends.Store {
	t.Helper()
	st, err := sqljobs.Postgres().Open(c)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return st
}
