package gate_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// TestMain is also the executor that TestKilledExecutor kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("REDRIVE_TEST_EXECUTOR"); dir != "" {
		if err := executor(dir, os.Getenv("REDRIVE_TEST_REQUEST")); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		fmt.Println("finished")
		return
	}
	os.Exit(m.Run())
}

func executor(dir, id string) error {
	ctx := context.Background()
	g, err := gate.Open(ctx, gate.Options{
		PolicyPath: filepath.Join(dir, "policy.yaml"),
		Drivers:    map[string]backends.Driver{"sqlite": sqljobs.SQLite()},
	})
	if err != nil {
		return err
	}
	defer g.Close()
	if id == "" { // an agent that redrives directly
		_, err := g.Agent(gate.Caller{Principal: "luis"}).RequestRedrive(ctx, gate.RedriveArgs{
			Queue: "mail", Group: os.Getenv("REDRIVE_TEST_GROUP"), AsOf: os.Getenv("REDRIVE_TEST_AS_OF"), MaxMessages: 5000, Reason: "r"})
		return err
	}
	p := g.Person(gate.Caller{Principal: "ana"})
	_, err = p.Run(ctx, id, func(r gate.RequestResult) { fmt.Println("progress", r.Sent) })
	return err
}

// An executor is killed by SIGKILL at random moments and started again until it
// is done: every job runs exactly once, and the log accounts for all of it.
func TestKilledExecutor(t *testing.T) {
	const jobs = 2500 // five batches
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	h := open(t, `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    approval: {from: [oncall], max_messages: 5000}
`)
	h.kill("orders", jobs, "TimeoutError: x", `{"id":#}`)
	groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: jobs, Reason: "r"}))
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
	h.gate.Close()
	h.exec(`CREATE TABLE sent (id INTEGER, at TEXT);
		CREATE TRIGGER count_sends AFTER UPDATE OF status ON jobs WHEN new.status = 'queued' BEGIN INSERT INTO sent VALUES (new.id, 'x'); END`)

	kills := 0
	for round := 0; ; round++ {
		if round > 200 {
			t.Fatal("it does not come to an end")
		}
		if runUntilKilled(t, h.dir, res.RequestID, rnd) {
			break
		}
		kills++
	}
	var sends, distinct int
	if err := h.db.QueryRow(`SELECT count(*), count(DISTINCT id) FROM sent`).Scan(&sends, &distinct); err != nil {
		t.Fatal(err)
	}
	if sends != jobs || distinct != jobs {
		t.Errorf("%d sends of %d jobs after %d kills, want each of %d once", sends, distinct, kills, jobs)
	}
	h.clock.add(time.Since(h.clock.now())) // the killed processes had the real time
	h.reopen()
	st := must[*gate.StatusResult](t)(h.person("ana").GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
	if got := st.Requests[0]; got.Status != "done" || got.Sent != jobs {
		t.Errorf("got %+v", got)
	}
	h.verify()
	t.Logf("%d kills", kills)
}

// runUntilKilled starts an executor and kills it after it has reported progress
// a random number of times, or a random moment after its start. It reports that
// the executor came to its end first.
func runUntilKilled(t *testing.T, dir, id string, rnd *rand.Rand) (finished bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REDRIVE_TEST_EXECUTOR="+dir, "REDRIVE_TEST_REQUEST="+id)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	steps := rnd.IntN(3)
	if steps == 0 { // somewhere before the first batch is recorded
		timer := time.AfterFunc(time.Duration(30+rnd.IntN(500))*time.Millisecond, func() { cmd.Process.Kill() })
		defer timer.Stop()
		steps = 1000
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch text := lines.Text(); {
		case text == "finished":
			finished = true
		case strings.HasSuffix(text, "is done; there is nothing to run."):
			finished = true // it was killed between its end and the word of it
		case len(text) > 6 && text[:6] == "failed":
			t.Error(text)
		default:
			if steps--; steps <= 0 {
				cmd.Process.Kill()
			}
		}
	}
	cmd.Wait()
	return finished
}

// An agent's process is killed in the middle of a direct redrive. Nothing of it
// is sent by a later session: what was in hand is settled with the store, the
// rest is released.
func TestKilledSession(t *testing.T) {
	h := open(t, `
  mail:
    source: {backend: app, queue: mail}
    redrive: direct
    handler: {idempotent: true}
    limits: {per_plan: 5000, per_hour: 5000}
    approval: {max_messages: 5000}
`)
	const jobs = 2500
	h.kill("mail", jobs, "TimeoutError: x", `{"id":#}`)
	groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "mail"}))
	h.gate.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REDRIVE_TEST_EXECUTOR="+h.dir, "REDRIVE_TEST_REQUEST=",
		"REDRIVE_TEST_GROUP="+groups.Groups[0].Group, "REDRIVE_TEST_AS_OF="+groups.AsOf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	queued := func() (n int) {
		if err := h.db.QueryRow(`SELECT count(*) FROM jobs WHERE status = 'queued'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for tick := time.NewTicker(5 * time.Millisecond); queued() == 0; <-tick.C {
	}
	cmd.Process.Kill()
	cmd.Wait()
	sent := queued()

	h.clock.add(time.Since(h.clock.now())) // the killed process had the real time
	h.reopen()
	open := must[*gate.StatusResult](t)(h.agent().GetRedrive(t.Context(), gate.GetArgs{}))
	if len(open.Requests) != 0 || queued() != sent {
		t.Errorf("still open: %+v; %d sent, then %d", open.Requests, sent, queued())
	}
	list := must[*gate.QueuesResult](t)(h.agent().ListQueues(t.Context(), gate.QueuesArgs{}))
	last := must[*gate.StatusResult](t)(h.agent().GetRedrive(t.Context(), gate.GetArgs{RequestID: strings.Fields(list.Queues[0].Last)[0]}))
	if got := last.Requests[0]; got.Sent != sent || got.Status != "halted" && sent < jobs {
		t.Errorf("got %+v, want %d sent", got, sent)
	}
	if list.Queues[0].Count() != jobs-sent {
		t.Errorf("%d letters are left, want %d", list.Queues[0].Count(), jobs-sent)
	}
	h.verify()
	t.Logf("%d of %d were sent when it was killed", sent, jobs)
}
