package redrive

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

const benchTable = `
dsn_env: DSN
receipts: SCHEMA.receipts
jobs:
  table: SCHEMA.jobs
  id: id
  queue: queue
  job: kind
  payload: payload
  dead: {column: status, in: [failed]}
  attempts: attempts
  max_attempts: max_attempts
  error: last_error
  enqueued_at: created_at
  last_attempt_at: attempted_at
  dead_at: failed_at
  redrive: {update: {set: {status: queued, failed_at: null, locked_by: null}}}
`

// yard is a job table of dead jobs in PostgreSQL, with a ledger and a log on the
// disk.
type yard struct {
	b      *testing.B
	schema string
	conn   *pgx.Conn
	store  backends.Store
	exec   *Executor
	items  []ledger.Item
}

func newYard(b *testing.B, rows int) *yard {
	b.Helper()
	dsn := os.Getenv("REDRIVE_TEST_POSTGRES")
	if dsn == "" {
		b.Fatal("REDRIVE_TEST_POSTGRES is not set: give the DSN of a superuser of a throw-away server")
	}
	y := &yard{b: b, schema: "bench_" + strings.ToLower(rand.Text()[:12])}
	var err error
	y.conn, err = pgx.Connect(context.Background(), dsn)
	must(b, err)
	b.Cleanup(func() {
		y.sql("DROP SCHEMA " + y.schema + " CASCADE")
		y.conn.Close(context.Background())
	})
	table, err := os.ReadFile("../../testdata/bench/jobs.sql")
	must(b, err)
	y.sql("CREATE SCHEMA " + y.schema)
	y.sql(strings.NewReplacer("{SCHEMA}", y.schema, "{ROWS}", fmt.Sprint(rows)).Replace(string(table)))
	y.sql("CREATE TABLE " + y.schema + ".before AS SELECT id, failed_at FROM " + y.schema + ".jobs")

	config := new(sqljobs.PostgresBackend)
	must(b, yaml.Unmarshal([]byte(strings.ReplaceAll(benchTable, "SCHEMA", y.schema)), config))
	y.store, err = sqljobs.Postgres().Open(backends.Config{Name: "app", Backend: config,
		Sources: map[string]any{"mail": &sqljobs.Source{Queue: "orders"}}, Env: func(string) (string, bool) { return dsn, true }})
	must(b, err)
	b.Cleanup(func() { y.store.Close() })
	for l, err := range y.store.Scan(context.Background(), backends.Query{Queue: "mail", Bodies: true}) {
		must(b, err)
		y.items = append(y.items, ledger.Item{N: len(y.items), Ref: l.Ref})
	}

	state, err := durable.Open(b.TempDir() + "/state")
	must(b, err)
	b.Cleanup(func() { state.Close() })
	y.exec = &Executor{}
	y.exec.Ledger, err = ledger.Open(context.Background(), state, time.Now)
	must(b, err)
	b.Cleanup(func() { y.exec.Ledger.Close() })
	y.exec.Log, err = audit.Open(state, audit.Options{})
	must(b, err)
	b.Cleanup(func() { y.exec.Log.Close() })
	return y
}

func (y *yard) sql(q string, args ...any) int {
	y.b.Helper()
	tag, err := y.conn.Exec(context.Background(), q, args...)
	if err != nil {
		y.b.Fatalf("%.200s: %v", q, err)
	}
	return int(tag.RowsAffected())
}

// restore makes all jobs as dead as they were.
func (y *yard) restore() {
	y.b.Helper()
	y.sql("UPDATE " + y.schema + ".jobs j SET status = 'failed', attempts = 3, failed_at = b.failed_at FROM " + y.schema + ".before b WHERE j.id = b.id")
	y.sql("VACUUM ANALYZE " + y.schema + ".jobs")
	y.sql("CHECKPOINT")
}

// claim stores a plan of all jobs.
func (y *yard) claim() Order {
	y.b.Helper()
	now, commit := time.Now(), strings.Repeat("c", 64)
	o := Order{Plan: ledger.NewID("r"), Digest: rand.Text(), Queue: "mail", Physical: physical, Attempts: "reset",
		Check:  func(context.Context) error { return nil },
		Still:  func(context.Context) error { return nil },
		Bind:   func(ledger.Item) error { return nil },
		Commit: func(int) string { return commit },
		Redact: func(s string) string { return s },
		Record: audit.Record{Op: "o-1", Actor: "person ana", Tool: "run", Rule: "orders: approval"},
	}
	must(y.b, y.exec.Ledger.Create(context.Background(), ledger.Plan{ID: o.Plan, Digest: o.Digest, Bytes: []byte("b"), Queue: "mail", Letters: "app/jobs", Physical: physical,
		Mode: "approval", State: ledger.Approved, Kind: "agent", Created: now, Expires: now.Add(time.Hour), NotAfter: now.Add(time.Hour)}, y.items, ledger.Caps{}))
	return o
}

// bare is what a redrive would be without any of that: the statement that the
// store sends, each batch in a transaction of its own. With look its rows are
// locked and read before, as they must be for a comparison with the plan.
func (y *yard) bare(look bool) {
	y.b.Helper()
	for batch := range slices.Chunk(y.items, 500) {
		ids := make([]int64, len(batch))
		for i, it := range batch {
			var err error
			ids[i], err = strconv.ParseInt(it.Ref.ID, 10, 64)
			must(y.b, err)
		}
		if look {
			y.sql("BEGIN")
			y.sql("SELECT * FROM "+y.schema+`.jobs WHERE status = 'failed' AND failed_at IS NOT NULL AND queue = 'orders' AND id = ANY ($1)
				FOR UPDATE SKIP LOCKED`, pgx.QueryExecModeExec, ids)
		}
		sent := y.sql("UPDATE "+y.schema+`.jobs SET status = 'queued', attempts = 0, failed_at = NULL, locked_by = NULL
			WHERE status = 'failed' AND failed_at IS NOT NULL AND queue = 'orders' AND id = ANY ($1)`, pgx.QueryExecModeExec, ids)
		if sent != len(ids) {
			y.b.Fatalf("%d of %d rows were sent", sent, len(ids))
		}
		if look {
			y.sql("COMMIT")
		}
	}
}

// BenchmarkRedrive claims and redrives REDRIVE_BENCH_SENDS letters (1,000 by
// default) with ledger, receipts and audit log on the disk, in turns with one
// bare guarded UPDATE of the same rows in batches of 500. The metric looked-ms is
// what the UPDATE takes when its rows are locked and read before it.
func BenchmarkRedrive(b *testing.B) {
	n := 1000
	if text := os.Getenv("REDRIVE_BENCH_SENDS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		must(b, err)
	}
	y := newYard(b, n)
	var claims, runs, all, bare, looked []float64
	for b.Loop() {
		y.restore()
		began := time.Now()
		o := y.claim()
		claimed := time.Now()
		if state, err := y.exec.Run(context.Background(), y.store, o); state != ledger.Done || err != nil {
			b.Fatal(state, err)
		}
		claims, runs = append(claims, claimed.Sub(began).Seconds()), append(runs, time.Since(claimed).Seconds())
		all = append(all, time.Since(began).Seconds())
		if left := y.sql("SELECT 1 FROM " + y.schema + ".jobs WHERE status <> 'queued'"); left > 0 {
			b.Fatalf("%d rows were not sent", left)
		}
		for look, list := range map[bool]*[]float64{false: &bare, true: &looked} {
			y.restore()
			began = time.Now()
			y.bare(look)
			*list = append(*list, time.Since(began).Seconds())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(all)*1e3, "ms")
	b.ReportMetric(median(claims)*1e3, "claim-ms")
	b.ReportMetric(median(runs)*1e3, "run-ms")
	b.ReportMetric(median(bare)*1e3, "base-ms")
	b.ReportMetric(median(looked)*1e3, "looked-ms")
	b.ReportMetric(median(all)/median(bare), "ratio")
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
