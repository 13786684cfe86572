package accounting

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The server of the job table is stopped at once in the middle of a run, behind its first, second
// or third batch, and is away for a while. The run ends with an error that
// says so, looking at the request goes on, and with the server back every job has
// run once for what is told of it.
func TestDatabaseDownInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for round := range 3 {
		w := newWorld(t, kind{postgres: s, schema: fmt.Sprint("down_", round), receipts: round != 1})
		w.kill(300)
		id := w.approved(600, 300)
		p, input, err := w.start("run", new(strings.Builder), "run", id, "--json", "--as", "ana")
		must(t, err)
		must(t, input.Close())
		w.await(1 + 60*round)
		s.stop()
		select {
		case <-p.ended:
		case <-time.After(patience):
			t.Fatal("the run does not end")
		}
		if said := p.stderr.String(); p.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said, "error: ") {
			t.Errorf("round %d: the run ends with %v and says %q", round, p.cmd.ProcessState, said)
		}
		if res := w.command("show", -1, "show", id, "--json", "--as", "ana"); res.code != 0 {
			t.Errorf("round %d: while the server is away, show says %s", round, res.stderr)
		}
		if res := w.command("run", -1, "run", id, "--as", "ana"); res.code == 0 || res.code == -1 {
			t.Errorf("round %d: a run without the server ends with %d", round, res.code)
		}
		must(t, s.start())
		w.jobs.db.SetMaxIdleConns(0) // those of before are cut
		w.settle()
		w.account()
		for _, f := range w.faults {
			t.Errorf("round %d: %s", round, f)
		}
	}
}

// approved is a request for the jobs of a pair's queue that are no poison, which two
// people have approved.
func (w *world) approved(after, n int64) (id string) {
	w.t.Helper()
	var ids []string
	for job := after + 1; job <= after+n; job++ {
		if job%3 > 0 {
			ids = append(ids, fmt.Sprint(job))
		}
	}
	res := w.command("redrive", -1, "redrive", "pairs", "--ids", strings.Join(ids, ","), "--reason", "r", "--as", "eva", "--json")
	var asked waiting
	if err := json.Unmarshal(res.out, &asked); err != nil {
		w.t.Fatalf("%v: %s%s", err, res.out, res.stderr)
	}
	for _, who := range []string{"ana", "luis"} {
		if res := w.command("approve", -1, "approve", asked.RequestID, "--digest", asked.Digest, "--no-run", "--as", who); res.code != 0 {
			w.t.Fatal(res.stderr)
		}
	}
	return asked.RequestID
}

// await waits until so many jobs of the pairs have been sent.
func (w *world) await(n int) {
	w.t.Helper()
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		sent, err := w.jobs.count(`SELECT count(*) FROM {S}jobs WHERE queue = 'pairs' AND status = 'queued'`)
		must(w.t, err)
		if sent >= n {
			return
		}
	}
}
