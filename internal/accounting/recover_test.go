package accounting

import (
	"strconv"
	"strings"
	"syscall"
)

// settle ends a fire: nothing is broken any more, every process goes, and what
// is left is run, decided and settled as a person would.
func (w *world) settle() {
	for _, p := range w.procs.all() {
		p.cmd.Process.Signal(syscall.SIGCONT)
		p.kill()
		<-p.ended
	}
	if res := w.command("resume", -1, "resume", "--as", "ana"); res.code != 0 && res.code != 4 {
		w.fault("resume after the fire: %s", res.stderr)
	}
	if !w.runAll() {
		return
	}
	if err := w.jobs.drain(); err != nil {
		w.fault("the worker: %v", err)
		return
	}
	w.resolveAll()
	if open, ok := w.pending(-1); !ok || len(open) > 0 {
		w.fault("after recovery there are open requests: %+v (told: %v)", open, ok)
	}
}

// runAll runs what is approved or begun and withdraws what waits, until nothing
// is open but what a person must settle.
func (w *world) runAll() bool {
	for range 10 {
		open, ok := w.pending(-1)
		if !ok {
			w.fault("pending after the fire failed")
			return false
		}
		left := 0
		for _, q := range open {
			switch q.Status {
			case "unknown":
				continue
			case "pending_approval":
				w.command("cancel", -1, "cancel", q.RequestID, "--as", "eva")
			default:
				w.command("run", -1, "run", q.RequestID, "--json", "--as", "eva")
			}
			left++
		}
		if left == 0 {
			return true
		}
	}
	open, _ := w.pending(-1)
	w.fault("requests that do not come to an end: %+v", open)
	return false
}

// resolveAll says of each unknown message what a person finds in the consumer:
// a life of the job that nothing else accounts for.
func (w *world) resolveAll() {
	b, err := w.books()
	if err != nil {
		w.fault("reading the books: %v", err)
		return
	}
	for _, plan := range b.plans {
		var sent, not []string
		for _, it := range plan.items {
			if it.state != "unknown" {
				continue
			}
			w.tally.add("unknown", 1)
			if w.receipts {
				w.fault("message %s of %s is unknown, and the store keeps receipts", it.id, plan.id)
			}
			id, _ := strconv.ParseInt(it.id, 10, 64)
			if j := b.jobs[id]; j != nil && j.sends() > b.sentBy(id)+j.rivals {
				sent = append(sent, it.id)
			} else {
				not = append(not, it.id)
			}
		}
		w.resolve(plan.id, "--sent", sent)
		w.resolve(plan.id, "--not-sent", not)
	}
}

func (w *world) resolve(plan, verdict string, ids []string) {
	if len(ids) == 0 {
		return
	}
	w.tally.add("resolved "+verdict, len(ids))
	res := w.command("resolve", -1, "resolve", plan, verdict, "--ids", strings.Join(ids, ","), "--reason", "seen in the effects", "--as", "ana")
	if res.code != 0 {
		w.fault("resolve %s: %s", plan, res.stderr)
	}
}
