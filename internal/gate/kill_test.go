package gate_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
		err := error(nil)
		if seed := os.Getenv("REDRIVE_TEST_BUSY"); seed != "" {
			n, _ := strconv.ParseUint(seed, 10, 64)
			err = busy(dir, n)
		} else {
			err = executor(dir, os.Getenv("REDRIVE_TEST_REQUEST"))
		}
		if err != nil {
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
	broken := breakFlushes()
	_, err = p.Run(ctx, id, func(r gate.RequestResult) { fmt.Println("progress", r.Sent); broken() })
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

// busy is a process that asks, decides, cancels, runs and settles as fast as it
// can, until it is killed.
func busy(dir string, seed uint64) error {
	ctx := context.Background()
	g, err := gate.Open(ctx, gate.Options{
		PolicyPath: filepath.Join(dir, "policy.yaml"),
		Drivers:    map[string]backends.Driver{"sqlite": sqljobs.SQLite()},
	})
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	a, p := g.Agent(gate.Caller{Principal: "luis"}), g.Person(gate.Caller{Principal: "ana"})
	list, err := a.List(ctx, gate.ListArgs{Queue: "orders", Limit: 100})
	if err != nil {
		return err
	}
	for _, letter := range list.Letters {
		fmt.Println("next")
		r, err := a.RequestRedrive(ctx, gate.RedriveArgs{Queue: "orders", ID: letter.ID, Reason: "r"})
		if _, refused := errors.AsType[*gate.Refusal](err); refused {
			continue // denied, or claimed by a request of one that was killed
		}
		if err == nil {
			err = busyWith(ctx, a, p, r, rnd.IntN(4))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func busyWith(ctx context.Context, a *gate.Agent, p *gate.Person, r *gate.RequestResult, what int) error {
	switch what {
	case 0:
		_, err := p.Deny(ctx, r.RequestID, "no")
		return err
	case 1:
		_, err := a.CancelRedrive(ctx, gate.CancelArgs{RequestID: r.RequestID})
		return err
	case 2:
		if _, err := p.Approve(ctx, r.RequestID, r.Digest, ""); err != nil {
			return err
		}
		_, err := p.Run(ctx, r.RequestID, nil)
		return err
	}
	return nil // left pending
}

// Processes are killed at random moments of everything they do. The gate opens
// again, and once whoever comes later has tidied up, the log tells all that the
// ledger has, and no more.
func TestKilledAnywhere(t *testing.T) {
	h := open(t, strings.Replace(standard, "deny_for: 1h", "deny_for: 1h, max_pending: 100000", 1))
	h.exec(`CREATE TABLE sent (id INTEGER); CREATE TRIGGER count_sends AFTER UPDATE OF status ON jobs WHEN new.status = 'queued' BEGIN INSERT INTO sent VALUES (new.id); END`)
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for round := range 25 {
		h.kill("orders", 30, "TimeoutError: x", `{"id":#}`)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "REDRIVE_TEST_EXECUTOR="+h.dir, "REDRIVE_TEST_BUSY="+fmt.Sprint(round))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		steps, later := 1+rnd.IntN(3), time.Duration(rnd.IntN(30_000))*time.Microsecond
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "failed") {
				t.Errorf("round %d: %s", round, lines.Text())
			}
			if steps--; steps == 0 { // in the middle of what comes next
				time.AfterFunc(later, func() { cmd.Process.Kill() })
			}
		}
		cmd.Wait()
		h.clock.add(time.Since(h.clock.now()))
		if err := h.opens(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	h.clock.add(time.Minute)
	h.reopen()
	p := h.person("ana")
	for _, r := range must[*gate.StatusResult](t)(p.Pending(t.Context())).Requests {
		if r.Status == "running" || r.Status == "approved" {
			must[*gate.RequestResult](t)(p.Run(t.Context(), r.RequestID, nil))
		}
	}
	h.gate.Close()
	h.toldAll()
	var sends, distinct int
	if err := h.db.QueryRow(`SELECT count(*), count(DISTINCT id) FROM sent`).Scan(&sends, &distinct); err != nil {
		t.Fatal(err)
	}
	if done := h.rows(`SELECT count(*) FROM items WHERE state = 'done'`); sends != distinct || sends != done {
		t.Errorf("%d sends of %d letters, %d in the ledger", sends, distinct, done)
	}
	h.verify()
}

// toldAll compares what the log tells of requests with what the ledger has.
func (h *house) toldAll() {
	h.t.Helper()
	inLog := map[string]string{} // the newest by plan and kind
	for _, rec := range h.log() {
		switch rec.Phase {
		case "plan", "cancel":
			inLog[rec.Plan+" "+rec.Phase] = "yes"
		case "approval":
			inLog[rec.Plan+" decision"] = rec.Outcome
		case "outcome", "resolve":
			for _, it := range rec.Items {
				inLog[fmt.Sprint(rec.Plan, " item ", it.N)] = it.State
			}
			if rec.Outcome != "" {
				inLog[rec.Plan+" end"] = rec.Outcome
			}
		}
	}
	inLedger := map[string]string{}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "state", "ledger.db"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT digest || ' plan', 'yes' FROM plans
		UNION ALL SELECT digest || ' cancel', 'yes' FROM plans WHERE state = 'cancelled'
		UNION ALL SELECT digest || ' end', state FROM plans WHERE state IN ('done', 'partial', 'halted', 'unknown', 'expired', 'void')
		UNION ALL SELECT digest || ' decision', iif(yes, 'approve', 'deny') FROM decisions WHERE hash <> ''
		UNION ALL SELECT p.digest || ' item ' || n, i.state FROM items i JOIN plans p ON p.id = i.plan WHERE i.state <> 'claimed'`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var what, state string
		if err := rows.Scan(&what, &state); err != nil {
			h.t.Fatal(err)
		}
		inLedger[what] = state
	}
	for what, state := range inLedger {
		if inLog[what] != state {
			h.t.Errorf("the ledger has %s: %s, and the log %q", what, state, inLog[what])
		}
	}
	for what, state := range inLog {
		if inLedger[what] != state && state != "claimed" && !strings.HasSuffix(state, "not started") {
			h.t.Errorf("the log has %s: %s, and the ledger %q", what, state, inLedger[what])
		}
	}
}
