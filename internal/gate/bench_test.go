package gate_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// yard is a PostgreSQL job table of dead jobs with a policy and a state folder.
type yard struct {
	b      *testing.B
	schema string
	conn   *pgx.Conn
	gate   *gate.Gate
}

func newYard(b *testing.B, rows int) *yard {
	b.Helper()
	dsn := os.Getenv("REDRIVE_TEST_POSTGRES")
	if dsn == "" {
		b.Fatal("REDRIVE_TEST_POSTGRES is not set: give the DSN of a superuser of a throw-away server")
	}
	y := &yard{b: b, schema: "bench_" + strings.ToLower(rand.Text()[:12])}
	var err error
	if y.conn, err = pgx.Connect(context.Background(), dsn); err != nil {
		b.Fatal(err)
	}
	fill := strings.NewReplacer("{SCHEMA}", y.schema, "{ROWS}", fmt.Sprint(rows), "{STATE}", filepath.Join(b.TempDir(), "state"))
	read := func(name string) string {
		text, err := os.ReadFile("../../testdata/bench/" + name)
		if err != nil {
			b.Fatal(err)
		}
		return fill.Replace(string(text))
	}
	b.Cleanup(func() {
		y.exec("DROP SCHEMA " + y.schema + " CASCADE")
		y.conn.Close(context.Background())
	})
	y.exec("CREATE SCHEMA " + y.schema)
	y.exec(read("jobs.sql"))
	y.exec("VACUUM ANALYZE " + y.schema + ".jobs")
	file := filepath.Join(b.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(read("policy.yaml")), 0o600); err != nil {
		b.Fatal(err)
	}
	y.gate, err = gate.Open(context.Background(), gate.Options{
		PolicyPath: file,
		Drivers:    map[string]backends.Driver{"postgres": sqljobs.Postgres()},
		Env:        func(string) (string, bool) { return dsn, true },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { y.gate.Close() })
	return y
}

func (y *yard) exec(sql string, args ...any) int {
	y.b.Helper()
	tag, err := y.conn.Exec(context.Background(), sql, args...)
	if err != nil {
		y.b.Fatal(err)
	}
	return int(tag.RowsAffected())
}

func number(b *testing.B, name string, small int) int {
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// turns are durations of two things that were measured in turns, so that a busy
// machine slows both.
type turns struct{ ours, base []time.Duration }

func (t *turns) report(b *testing.B) {
	ours, base := middle(t.ours), middle(t.base)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours, "ms")
	b.ReportMetric(base, "base-ms")
	b.ReportMetric(ours/base, "ratio")
}

// middle is the median in milliseconds.
func middle(list []time.Duration) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2].Seconds() * 1e3
}

func since(began time.Time, list *[]time.Duration) { *list = append(*list, time.Since(began)) }

// BenchmarkRedrive redrives REDRIVE_BENCH_SENDS approved letters (1,000 by
// default) with ledger, claims, receipts and audit, against one bare guarded
// UPDATE of the same rows in batches of 500. The metric request-ms is what it
// took before to ask for them all and to claim them.
func BenchmarkRedrive(b *testing.B) {
	n := number(b, "REDRIVE_BENCH_SENDS", 1000)
	y := newYard(b, n)
	jobs := y.schema + ".jobs"
	y.exec("UPDATE " + jobs + " SET last_error = 'Timeout: no answer after ' || id || 'ms'") // one group
	y.exec("CREATE TABLE " + y.schema + ".before AS SELECT id, failed_at FROM " + jobs)
	restore := func() {
		y.exec("UPDATE " + jobs + " j SET status = 'failed', attempts = 3, failed_at = b.failed_at FROM " + y.schema + ".before b WHERE j.id = b.id")
		y.exec("VACUUM " + jobs)
		y.exec("CHECKPOINT")
	}
	var runs turns
	var requests []time.Duration
	for b.Loop() {
		restore()
		id := y.approved(n, &requests)
		began := time.Now()
		y.run(id)
		since(began, &runs.ours)
		if left := y.exec("SELECT 1 FROM " + jobs + " WHERE status <> 'queued'"); left > 0 {
			b.Fatalf("%d rows were not sent", left)
		}
		restore()
		began = time.Now()
		y.bare(n)
		since(began, &runs.base)
	}
	runs.report(b)
	b.ReportMetric(middle(requests), "request-ms")
}

// approved asks for all letters in one request, and approves it.
func (y *yard) approved(n int, requests *[]time.Duration) (id string) {
	y.b.Helper()
	agent, person := y.gate.Agent(gate.Caller{Principal: "luis"}), y.gate.Person(gate.Caller{Principal: "ana"})
	groups, err := agent.Group(context.Background(), gate.GroupArgs{Queue: "orders"})
	if err != nil || len(groups.Groups) != 1 || groups.Groups[0].Count != n {
		y.b.Fatalf("%+v, %v", groups, err)
	}
	began := time.Now()
	res, err := agent.RequestRedrive(context.Background(), gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: n, Reason: "r"})
	since(began, requests)
	if err == nil {
		_, err = person.Approve(context.Background(), res.RequestID, res.Digest, "")
	}
	if err != nil {
		y.b.Fatal(err)
	}
	return res.RequestID
}

func (y *yard) run(id string) {
	y.b.Helper()
	res, err := y.gate.Person(gate.Caller{Principal: "ana"}).Run(context.Background(), id, nil)
	if err != nil || res.Status != "done" {
		y.b.Fatalf("%+v, %v", res, err)
	}
}

// bare is what a redrive would be without a gate.
func (y *yard) bare(n int) {
	y.b.Helper()
	for from := 1; from <= n; from += 500 {
		var ids []int
		for id := from; id < from+500 && id <= n; id++ {
			ids = append(ids, id)
		}
		sent := y.exec("UPDATE "+y.schema+`.jobs SET status = 'queued', attempts = 0, failed_at = NULL, locked_by = NULL
			WHERE status = 'failed' AND failed_at IS NOT NULL AND queue = 'orders' AND id = ANY ($1)`, pgx.QueryExecModeExec, ids)
		if sent != len(ids) {
			y.b.Fatalf("%d of %d rows were sent", sent, len(ids))
		}
	}
}

// BenchmarkListQueues keeps 64 calls of list_queues in flight, audited and,
// in turns with that, not.
func BenchmarkListQueues(b *testing.B) {
	const inFlight, calls = 64, 2000
	y := newYard(b, 1000)
	agent := y.gate.Agent(gate.Caller{Principal: "luis", Client: "bench 1", Session: "s"})
	storm := func(call func(context.Context) error) {
		var wg sync.WaitGroup
		for range inFlight {
			wg.Go(func() {
				for range calls / inFlight {
					if err := call(context.Background()); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	audited := func(ctx context.Context) error { _, err := agent.ListQueues(ctx, gate.QueuesArgs{}); return err }
	unaudited := func(ctx context.Context) error { _, err := agent.ListQueuesUnaudited(ctx); return err }
	storm(audited) // the first calls connect
	var runs turns
	for b.Loop() {
		began := time.Now()
		storm(audited)
		since(began, &runs.ours)
		began = time.Now()
		storm(unaudited)
		since(began, &runs.base)
	}
	runs.report(b)
	b.ReportMetric(calls/middle(runs.ours)*1e3, "calls/s")
}
