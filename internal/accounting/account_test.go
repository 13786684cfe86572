package accounting

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// account holds the books against each other, and asks the program to verify its
// log.
func (w *world) account() {
	b, err := w.books()
	if err != nil {
		w.fault("reading the books: %v", err)
		return
	}
	w.judge(b)
	w.verify()
}

// judge asks of every job, claim, plan, intent and record what became of it, and
// makes a fault of what has no good answer.
func (w *world) judge(b *books) {
	for _, id := range w.known {
		if b.jobs[id] == nil || b.jobs[id].status == "gone" {
			w.fault("job %d is lost: it is not in the table any more", id)
		}
	}
	for id, j := range b.jobs {
		w.accountJob(b, id, j)
	}
	for _, p := range b.plans {
		w.accountPlan(p)
	}
	w.accountReceipts(b)
	w.accountLog(b)
	if b.reserved > 0 || b.unsaid > 0 {
		w.fault("%d reservations and %d outcomes that are not in the log are left", b.reserved, b.unsaid)
	}
	w.tally.add("jobs", len(b.jobs))
	w.tally.add("plans", len(b.plans))
	w.tally.add("records", len(b.log))
}

// accountJob: every life after the first was given by one item that the ledger
// calls done, or by a rival; the worker got the bytes that stood in that plan;
// and a job that nobody sent is still dead.
func (w *world) accountJob(b *books, id int64, j *job) {
	var sent []item
	for _, p := range b.plans {
		for _, it := range p.items {
			if it.id == strconv.FormatInt(id, 10) && (it.state == "done" || it.state == "sent") {
				sent = append(sent, it)
			}
		}
	}
	slices.SortFunc(sent, func(x, y item) int { return int(x.at - y.at) })
	switch {
	case j.status != "done" && j.status != "failed":
		w.fault("job %d ends as %s", id, j.status)
	case j.sends() > len(sent)+j.rivals:
		w.fault("job %d was sent %d times: %d by the ledger's word, %d by rivals", id, j.sends(), len(sent), j.rivals)
	case j.sends() < len(sent)+j.rivals:
		w.fault("job %d was sent %d times, and the ledger says %d (%d by rivals): a send is lost", id, j.sends(), len(sent), j.rivals)
	}
	w.tally.add("sent", len(sent))
	if j.status == "failed" {
		w.tally.add("still dead", 1)
	}
	for life, payload := range j.lives {
		var is work
		if err := json.Unmarshal([]byte(payload), &is); err != nil || is.N != id {
			w.fault("job %d was given the payload %s", id, payload)
			continue
		}
		if life > 0 && j.rivals == 0 && is.Currency == wrongCurrency {
			w.fault("job %d was sent unpatched in life %d, which the policy forbids", id, life+1)
		}
		if life == 0 || j.rivals > 0 || life > len(sent) {
			continue
		}
		want := j.lives[life-1]
		if body := sent[life-1].body; body != nil {
			want = *body
		}
		if payload != want {
			w.fault("job %d was given %s, and its plan says %s", id, payload, want)
		}
	}
}

// accountPlan: a plan is over, and so are its claims.
func (w *world) accountPlan(p *plan) {
	if p.open() || p.state == "unknown" {
		w.fault("request %s is left %s", p.id, p.state)
	}
	w.tally.add("plans "+p.state, 1)
	for _, it := range p.items {
		w.tally.add("items "+it.state, 1)
		if it.claimed {
			w.fault("request %s, %s, still claims %s, which is %s", p.id, p.state, it.id, it.state)
		}
		switch it.state {
		case "claimed", "skipped", "failed", "done":
		default:
			w.fault("message %s of %s is left %s", it.id, p.id, it.state)
		}
	}
}

// accountReceipts: what the store proves and what the ledger says are the same.
func (w *world) accountReceipts(b *books) {
	spent, done := 0, map[string]int{}
	for _, p := range b.plans {
		for _, it := range p.items {
			if it.state == "done" {
				done[it.ticket]++
				spent++
			}
		}
	}
	if b.spent != spent {
		w.fault("%d sends count against the hour's limit, and %d were made", b.spent, spent)
	}
	if !w.receipts {
		return
	}
	for ticket, n := range b.receipts {
		if done[ticket] != n {
			w.fault("receipt %s is of %d jobs, the ledger has %d", ticket, n, done[ticket])
		}
	}
	for ticket, n := range done {
		if b.receipts[ticket] == 0 {
			w.fault("%d jobs are done under %s, of which the store has no receipt", n, ticket)
		}
	}
}

// harmless are the findings that the documentation of the log explains: what a
// crash in the middle of a write leaves.
var harmless = regexp.MustCompile(`^(record \d+: a torn end was cut off and set aside|torn-\S+ was set aside, but no recovery record names it)`)

// verify asks the program itself.
func (w *world) verify() {
	res := w.command("verify", -1, "audit", "verify", "--json")
	var v struct {
		Status   string
		Findings []string
	}
	if err := json.Unmarshal(res.out, &v); err != nil {
		w.fault("audit verify: %v: %s %s", err, res.out, res.stderr)
		return
	}
	bad := slices.DeleteFunc(slices.Clone(v.Findings), harmless.MatchString)
	if len(bad) > 0 || res.code != 0 && res.code != 2 || (res.code == 0) != (len(v.Findings) == 0) {
		w.fault("audit verify exits %d, %s: %s", res.code, v.Status, strings.Join(v.Findings, "; "))
	}
	w.tally.add("findings of audit verify, all explained", len(v.Findings))
}

func describe(r record) string { return fmt.Sprintf("record %d (%s)", r.Seq, r.Phase) }
