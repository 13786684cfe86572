package demo

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver
)

// schema is the job table of an ordinary application, and runs, in which its
// worker notes every attempt with the payload as it got it.
const schema = `
CREATE TABLE jobs (
	id           INTEGER PRIMARY KEY,
	queue        TEXT NOT NULL,
	kind         TEXT NOT NULL,
	payload      TEXT NOT NULL,
	status       TEXT NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'completed', 'dead')),
	attempts     INTEGER NOT NULL DEFAULT 0,
	max_attempts INTEGER NOT NULL DEFAULT 3,
	last_error   TEXT,
	created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
	run_at       TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
	failed_at    TEXT,
	locked_by    TEXT
);
CREATE INDEX jobs_by_status ON jobs (status, queue, failed_at);
CREATE TABLE runs (
	run     INTEGER PRIMARY KEY,
	job_id  INTEGER NOT NULL REFERENCES jobs (id),
	payload TEXT NOT NULL,
	result  TEXT NOT NULL -- completed, or the error
);`

// table is the application's database.
type table struct{ db *sql.DB }

func openTable(file string) (*table, error) {
	uri := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: "_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_txlock=immediate"}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return nil, fmt.Errorf("opening the job table: %w", err)
	}
	db.SetMaxOpenConns(1)
	return &table{db}, nil
}

func createTable(ctx context.Context, file string) (*table, error) {
	t, err := openTable(file)
	if err != nil {
		return nil, err
	}
	if _, err := t.db.ExecContext(ctx, schema); err != nil {
		return nil, firstOf(fmt.Errorf("creating the job table: %w", err), t.close())
	}
	return t, nil
}

func (t *table) close() error { return t.db.Close() }

// job is what the application queues.
type job struct{ queue, kind, payload string }

func (t *table) enqueue(ctx context.Context, jobs []job) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("queueing jobs: %w", err)
	}
	for _, j := range jobs {
		if _, err := tx.ExecContext(ctx, `INSERT INTO jobs (queue, kind, payload) VALUES (?, ?, ?)`, j.queue, j.kind, j.payload); err != nil {
			return firstOf(fmt.Errorf("queueing a job: %w", err), tx.Rollback())
		}
	}
	return tx.Commit()
}
