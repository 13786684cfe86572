package gate_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
