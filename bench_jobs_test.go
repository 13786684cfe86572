package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// rows is how many dead jobs there are: REDRIVE_BENCH_ROWS, few by default so
// that it is quick to see that the benchmarks still work.
func rows(b *testing.B) int {
	b.Helper()
	text := os.Getenv("REDRIVE_BENCH_ROWS")
	if text == "" {
		return 20_000
	}
	return must[int](b)(strconv.Atoi(text))
}

// jobs is a job table of dead jobs in a schema of its own, with the roles, the
// grants and the index that docs/job-tables.md asks for.
type jobs struct {
	rows           int
	schema         string
	reader, writer string // connection strings
}

// newJobs makes the table and calls f, once for all benchmarks in it.
func newJobs(b *testing.B, f func(*jobs)) {
	b.Helper()
	dsn := os.Getenv("REDRIVE_TEST_POSTGRES")
	if dsn == "" {
		b.Fatal("REDRIVE_TEST_POSTGRES is not set: give the DSN of a superuser of a throw-away server")
	}
	ctx := context.Background()
	admin := must[*pgx.Conn](b)(pgx.Connect(ctx, dsn))
	defer admin.Close(ctx)
	j := &jobs{rows: rows(b), schema: "bench_" + strings.ToLower(rand.Text()[:12])}
	exec := func(sql string) {
		sql = strings.NewReplacer("{SCHEMA}", j.schema, "{ROWS}", fmt.Sprint(j.rows)).Replace(sql)
		if _, err := admin.Exec(ctx, sql); err != nil {
			b.Fatal(err)
		}
	}
	defer exec(`DROP SCHEMA {SCHEMA} CASCADE; DROP OWNED BY {SCHEMA}_r, {SCHEMA}_w; DROP ROLE {SCHEMA}_r, {SCHEMA}_w`)
	exec(`CREATE SCHEMA {SCHEMA}; CREATE ROLE {SCHEMA}_r LOGIN; CREATE ROLE {SCHEMA}_w LOGIN; GRANT USAGE ON SCHEMA {SCHEMA} TO {SCHEMA}_r, {SCHEMA}_w`)
	exec(string(must[[]byte](b)(os.ReadFile("testdata/bench/jobs.sql"))))
	exec(`GRANT SELECT ON {SCHEMA}.jobs TO {SCHEMA}_r, {SCHEMA}_w; GRANT SELECT, INSERT ON {SCHEMA}.receipts TO {SCHEMA}_w;
		GRANT UPDATE (status, attempts, failed_at, locked_by) ON {SCHEMA}.jobs TO {SCHEMA}_w`)
	exec(`VACUUM ANALYZE {SCHEMA}.jobs`)
	exec(`CHECKPOINT`)
	u := must[*url.URL](b)(url.Parse(dsn))
	u.User = url.UserPassword(j.schema+"_r", "unused")
	j.reader = u.String()
	u.User = url.UserPassword(j.schema+"_w", "unused")
	j.writer = u.String()
	f(j)
}

// serve starts the program on the table, with a state folder that an earlier
// process made.
func (j *jobs) serve(b *testing.B, program string) *child {
	b.Helper()
	dir := b.TempDir()
	text := strings.NewReplacer("{STATE}", filepath.Join(dir, "state"), "{SCHEMA}", j.schema).
		Replace(string(must[[]byte](b)(os.ReadFile("testdata/bench/policy.yaml"))))
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	env := []string{"READ_DSN=" + j.reader, "WRITE_DSN=" + j.writer}
	c := start(b, env, program, "serve", "--policy", filepath.Join(dir, "policy.yaml"), "--principal", "luis")
	c.initialize()
	return c
}

// connect is a connection of the role that reads.
func (j *jobs) connect(b *testing.B) *pgconn.PgConn {
	b.Helper()
	return must[*pgconn.PgConn](b)(pgconn.Connect(context.Background(), j.reader))
}

// BenchmarkQueue are listings and groupings of a queue of REDRIVE_BENCH_ROWS
// dead jobs, asked by a client of a real server process.
func BenchmarkQueue(b *testing.B) {
	program := build(b, ".")
	newJobs(b, func(j *jobs) {
		b.Run("FirstPage", func(b *testing.B) { benchFirstPage(b, j, program) })
		b.Run("AllPages", func(b *testing.B) { benchAllPages(b, j, program) })
		b.Run("Groups", func(b *testing.B) { benchGroups(b, j, program) })
	})
}

type page struct {
	Letters []struct{ ID string }
	Cursor  string `json:"next_cursor"`
}

// benchFirstPage holds a call of list_dead_letters against the bare query of its
// page. The call is audited.
func benchFirstPage(b *testing.B, j *jobs, program string) {
	c, conn := j.serve(b, program), j.connect(b)
	defer conn.Close(context.Background())
	defer c.stop()
	query := `SELECT id, queue, kind, status, attempts, max_attempts, last_error, created_at, attempted_at, failed_at, locked_by, octet_length(payload::text)
		FROM ` + j.schema + `.jobs WHERE status = 'failed' AND failed_at IS NOT NULL AND queue = $1 ORDER BY failed_at DESC, id DESC LIMIT 20`
	var p pairs
	measure := func() (ours, base time.Duration) {
		ours = timed(func() {
			var got page
			if c.call("list_dead_letters", `{"queue":"orders"}`, &got); len(got.Letters) != 20 {
				b.Fatalf("a page of %d letters", len(got.Letters))
			}
		})
		base = timed(func() {
			if r := conn.ExecParams(context.Background(), query, [][]byte{[]byte("orders")}, nil, nil, nil).Read(); r.Err != nil || len(r.Rows) != 20 {
				b.Fatalf("%d rows, %v", len(r.Rows), r.Err)
			}
		})
		return ours, base
	}
	measure() // the first call connects
	for b.Loop() {
		p.add(measure())
	}
	p.report(b)
	b.ReportMetric(c.resident(), "MiB")
}

// benchAllPages walks the whole queue, page by page, and holds the last pages
// against the first.
func benchAllPages(b *testing.B, j *jobs, program string) {
	c := j.serve(b, program)
	defer c.stop()
	var p pairs
	for b.Loop() {
		var took []time.Duration
		letters, cursor := 0, ""
		for {
			got, args := page{}, `{"queue":"orders","limit":100`+cursor+`}`
			took = append(took, timed(func() { c.call("list_dead_letters", args, &got) }))
			if letters += len(got.Letters); got.Cursor == "" {
				break
			}
			cursor = `,"cursor":"` + got.Cursor + `"`
		}
		if letters != j.rows {
			b.Fatalf("%d letters of %d", letters, j.rows)
		}
		took = took[1:] // the first call connects
		some := len(took) / 4
		for i, first := range took[:some] {
			p.add(took[len(took)-some+i], first)
		}
	}
	p.report(b)
	b.ReportMetric(c.resident(), "MiB")
}

// benchGroups holds a call of group_dead_letters against copying the columns
// that it reads out of the same rows.
func benchGroups(b *testing.B, j *jobs, program string) {
	c, conn := j.serve(b, program), j.connect(b)
	defer conn.Close(context.Background())
	defer c.stop()
	query := `COPY (SELECT id, kind, attempts, last_error, created_at, failed_at FROM ` + j.schema + `.jobs
		WHERE status = 'failed' AND failed_at IS NOT NULL AND queue = 'orders') TO STDOUT`
	var p pairs
	for b.Loop() {
		ours := timed(func() {
			var got struct{ Scanned int }
			if c.call("group_dead_letters", `{"queue":"orders"}`, &got); got.Scanned != j.rows {
				b.Fatalf("%d rows were grouped", got.Scanned)
			}
		})
		base := timed(func() {
			if tag, err := conn.CopyTo(context.Background(), io.Discard, query); err != nil || int(tag.RowsAffected()) != j.rows {
				b.Fatal(tag, err)
			}
		})
		p.add(ours, base)
	}
	p.report(b)
	b.ReportMetric(c.resident(), "MiB")
}
