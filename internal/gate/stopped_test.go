package gate_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// An executor is stopped by SIGSTOP at a random moment, for longer than its
// lease; another one takes the plan over, and then the first one goes on. Every
// job is sent once, and the log accounts for all of it.
func TestStoppedExecutor(t *testing.T) {
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			stoppedAndTakenOver(t, rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(round))))
		})
	}
}

func stoppedAndTakenOver(t *testing.T, rnd *rand.Rand) {
	const jobs = 2500 // five batches
	h := open(t, `
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    approval: {from: [oncall], max_messages: 5000}
`)
	h.clock.add(time.Since(h.clock.now())) // the executor has the real time
	h.kill("orders", jobs, "TimeoutError: x", `{"id":#}`)
	groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: jobs, Reason: "r"}))
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), res.RequestID, res.Digest, ""))
	h.exec(`CREATE TABLE sent (id INTEGER);
		CREATE TRIGGER count_sends AFTER UPDATE OF status ON jobs WHEN new.status = 'queued' BEGIN INSERT INTO sent VALUES (new.id); END`)

	goOn := stopExecutor(t, h.dir, res.RequestID, rnd)
	h.clock.add(31 * time.Second)
	// It may be stopped in the middle of a transaction of the job table; then the
	// second one may find the table locked, and gives up or asks later.
	h.person("ana").Run(t.Context(), res.RequestID, nil)
	goOn()
	h.person("ana").Run(t.Context(), res.RequestID, nil)
	st := must[*gate.StatusResult](t)(h.person("ana").GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID}))
	got := st.Requests[0]
	if got.Status != "done" && got.Status != "halted" || got.Sent+got.Released != jobs {
		t.Errorf("got %+v", got)
	}
	var sends, distinct int
	if err := h.db.QueryRow(`SELECT count(*), count(DISTINCT id) FROM sent`).Scan(&sends, &distinct); err != nil {
		t.Fatal(err)
	}
	if sends != got.Sent || distinct != sends {
		t.Errorf("%d sends of %d jobs, %d are told", sends, distinct, got.Sent)
	}
	h.verify()
	t.Logf("%s, %d sent", got.Status, got.Sent)
}

// stopExecutor starts an executor and stops it after it has reported progress a
// random number of times and a random moment more. goOn lets it go on and waits
// for its end.
func stopExecutor(t *testing.T, dir, id string, rnd *rand.Rand) (goOn func()) {
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
	lines := bufio.NewScanner(out)
	for range 1 + rnd.IntN(3) {
		lines.Scan()
	}
	<-time.After(time.Duration(rnd.IntN(20)) * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			if text := lines.Text(); strings.HasPrefix(text, "failed") {
				t.Logf("the stopped one says: %s", text)
			}
		}
		cmd.Wait()
	}
}
