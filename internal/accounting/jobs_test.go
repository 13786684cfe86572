package accounting

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// jobs is the job table of an application, and effects, in which its worker
// notes every attempt in the transaction that also moves the job: what stands
// there happened, once a row.
type jobs struct {
	db       *sql.DB
	postgres bool
	schema   string
}

// fill puts into SQL what the two databases say differently.
func (j *jobs) fill(query string) string {
	words := []string{"{S}", "", "{json}", "TEXT", "{time}", "TEXT", "{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT",
		"{now}", "strftime('%Y-%m-%dT%H:%M:%fZ')", "{lock}", "", "{text}", ""}
	if j.postgres {
		words = []string{"{S}", j.schema + ".", "{json}", "json", "{time}", "timestamptz", "{serial}", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
			"{now}", "clock_timestamp()", "{lock}", "FOR UPDATE SKIP LOCKED", "{text}", "::text"}
	}
	query = strings.NewReplacer(words...).Replace(query)
	for n := 1; j.postgres && strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

func (j *jobs) exec(query string, args ...any) error {
	if _, err := j.db.Exec(j.fill(query), args...); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

// tables are those of the application; rivals are the sends of somebody who
// does not ask the program.
const tables = `CREATE TABLE {S}jobs (id bigint PRIMARY KEY, queue TEXT NOT NULL, kind TEXT NOT NULL, payload {json} NOT NULL,
	status TEXT NOT NULL DEFAULT 'queued', attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 2, error TEXT, note TEXT,
	created_at {time} NOT NULL, tried_at {time}, failed_at {time});
CREATE INDEX jobs_dead ON {S}jobs (queue, failed_at DESC, id DESC) WHERE status = 'failed' AND failed_at IS NOT NULL;
CREATE INDEX jobs_queued ON {S}jobs (id) WHERE status = 'queued';
CREATE TABLE {S}effects (n {serial}, job bigint NOT NULL, attempt int NOT NULL, payload TEXT NOT NULL);
CREATE INDEX effects_job ON {S}effects (job, n);
CREATE TABLE {S}rivals (n {serial}, job bigint NOT NULL);`

// grants are what the documentation asks for, and nothing more.
const grants = `CREATE TABLE {S}receipts (ticket text PRIMARY KEY, sent_at timestamptz NOT NULL, queue text NOT NULL, items integer NOT NULL, new_ids jsonb NOT NULL);
DO $$ BEGIN CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN; EXCEPTION WHEN duplicate_object THEN END $$;
GRANT USAGE ON SCHEMA {s} TO reader, writer; GRANT SELECT ON {S}jobs TO reader, writer;
GRANT UPDATE (status, attempts, failed_at, tried_at, payload) ON {S}jobs TO writer; GRANT SELECT, INSERT ON {S}receipts TO writer;`

func postgresJobs(t testing.TB, s *server, schema string) *jobs {
	t.Helper()
	j := &jobs{db: s.open(t), postgres: true, schema: schema}
	t.Cleanup(func() { j.db.Close() })
	must(t, j.exec("CREATE SCHEMA "+schema))
	must(t, j.exec(tables))
	must(t, j.exec(strings.ReplaceAll(grants, "{s}", schema)))
	return j
}

func sqliteJobs(t testing.TB, path, journal string) *jobs {
	t.Helper()
	uri := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=busy_timeout(10000)&_pragma=synchronous(off)&_pragma=journal_mode(" + journal + ")&_txlock=immediate"}
	db, err := sql.Open("sqlite", uri.String())
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	j := &jobs{db: db}
	must(t, j.exec(tables))
	return j
}

// work is what a job is to do: it fails in its first lives, and always while
// its currency is wrong.
type work struct {
	N        int64  `json:"n"`
	Currency string `json:"currency"`
	Until    int    `json:"until"` // the last life in which it fails
	Card     string `json:"card"`
}

const wrongCurrency = "EURO"

func (w work) failure(life int) string {
	switch {
	case w.Currency == wrongCurrency:
		return fmt.Sprintf("ValueError: unknown currency %s of card %s", w.Currency, w.Card)
	case life <= w.Until:
		return fmt.Sprintf("TimeoutError: the provider of card %s did not answer", w.Card)
	}
	return ""
}

// enqueue adds a job; the worker sees to it that it dies.
func (j *jobs) enqueue(queue string, w work) error {
	payload, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return j.exec(`INSERT INTO {S}jobs (id, queue, kind, payload, created_at) VALUES (?, ?, 'charge', ?, {now})`, w.N, queue, string(payload))
}

func (j *jobs) count(query string, args ...any) (n int, err error) {
	err = j.db.QueryRow(j.fill(query), args...).Scan(&n)
	return n, err
}
