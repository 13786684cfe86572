package accounting

import (
	"slices"
	"strings"
	"testing"
)

// doctored are books in which one thing is not as it was, and what the
// accounting must say of it. Crooked stores cannot do this: it is what a fault
// in the ledger or in the log would leave.
var doctored = []struct {
	name, want string
	change     func(*books)
}{
	{"nothing", "", func(*books) {}},
	{"a job is gone", "job 1 is lost", func(b *books) { delete(b.jobs, 1) }},
	{"a job hangs", "job 1 ends as queued", func(b *books) { b.jobs[1].status = "queued" }},
	{"a job ran again", "job 1 was sent 2 times", func(b *books) { b.jobs[1].lives = append(b.jobs[1].lives, b.jobs[1].payload) }},
	{"other bytes", "and its plan says", func(b *books) { b.jobs[1].lives[1] = `{"n":1,"currency":"USD"}` }},
	{"poison was sent", "which the policy forbids", func(b *books) { b.jobs[1].lives[1] = `{"n":1,"currency":"EURO"}` }},
	{"a plan is stuck", "is left running", func(b *books) { b.only().state = "running" }},
	{"a claim is left", "still claims 1", func(b *books) { b.only().items[0].claimed = true }},
	{"an item is in doubt", "is left intended", func(b *books) { b.only().items[0].state = "intended" }},
	{"a reservation is left", "1 reservations", func(b *books) { b.reserved = 1 }},
	{"an hour's limit that nobody used", "count against the hour's limit", func(b *books) { b.spent++ }},
	{"a receipt of more", "receipt", func(b *books) { b.receipts["forged"] = 1 }},
	{"no receipt", "has no receipt", func(b *books) { clear(b.receipts) }},
	{"no plan in the log", "which no record before it names", func(b *books) { b.lose("plan") }},
	{"no approval in the log", "intends what 0 people approved", func(b *books) { b.lose("approval") }},
	{"no intent in the log", "no record before says that it would be", func(b *books) { b.lose("intent") }},
	{"no outcome in the log", `"intended" in the log`, func(b *books) { b.lose("outcome") }},
	{"a plan that the ledger lost", "the ledger has not", func(b *books) { clear(b.digests) }},
}

// only is the one plan there is.
func (b *books) only() *plan {
	for _, p := range b.plans {
		return p
	}
	return nil
}

func (b *books) lose(phase string) {
	b.log = slices.DeleteFunc(b.log, func(r record) bool { return r.Phase == phase })
}

func TestDoctoredBooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kind{receipts: true, journal: "wal"})
	w.kill(1)
	w.command("redrive", -1, "redrive", "orders", "--id", "1", "--reason", "r", "--as", "luis")
	open, _ := w.pending(-1)
	if len(open) != 1 {
		t.Fatalf("pending: %+v", open)
	}
	w.command("approve", -1, "approve", open[0].RequestID, "--digest", open[0].Digest, "--json", "--as", "ana")
	w.settle()
	for _, d := range doctored {
		b, err := w.books()
		must(t, err)
		d.change(b)
		w.judge(b)
		said := strings.Join(w.faults, "\n")
		if w.faults = nil; (said == "") != (d.want == "") || !strings.Contains(said, d.want) {
			t.Errorf("%s: want %q, have %q", d.name, d.want, said)
		}
	}
}
