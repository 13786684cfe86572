package accounting

import "strings"

// progress is what the log says of one plan so far.
type progress struct {
	planned bool
	yes     map[string]bool
	last    map[int]string // item -> its state in the log
	ended   bool
}

// accountLog walks the log as an auditor does: nothing is intended that was not
// planned and, where people decide, approved by as many as it takes; every
// intent has an outcome; and ledger and log end with the same words.
func (w *world) accountLog(b *books) {
	plans := map[string]*progress{}
	calls := map[string]int{}
	for _, r := range b.log {
		w.tally.add("records "+r.Phase, 1)
		switch r.Phase {
		case "call":
			calls[r.Op]++
		case "decision":
			calls[r.Op]--
		}
		if r.Plan == "" {
			continue
		}
		p := plans[r.Plan]
		if p == nil {
			p = &progress{yes: map[string]bool{}, last: map[int]string{}}
			plans[r.Plan] = p
		}
		w.accountRecord(b, p, r)
	}
	for digest, p := range plans {
		row := b.digests[digest]
		if row == nil {
			w.fault("the log has plan %s, the ledger has not", digest)
			continue
		}
		for _, it := range row.items {
			if said := p.last[it.n]; said != it.state && (said != "" || it.state != "claimed") {
				w.fault("message %s of %s is %s in the ledger and %q in the log", it.id, row.id, it.state, said)
			}
		}
	}
	for _, row := range b.plans {
		if p := plans[row.digest]; p == nil || !p.ended {
			w.tally.add("plans whose end is not in the log", 1)
		}
	}
	for _, r := range b.log {
		if r.Phase == "decision" && strings.Contains(r.Err, "") && r.Err != "" {
			w.tally.say("in the log: " + r.Err)
		}
	}
	for op, n := range calls {
		if n > 0 && op != "" {
			w.tally.add("calls cut off before their answer was recorded", 1)
		}
	}
}

func (w *world) accountRecord(b *books, p *progress, r record) {
	row := b.digests[r.Plan]
	switch r.Phase {
	case "plan":
		p.planned = true
	case "approval":
		if who, ok := r.Args["person"].(string); ok && r.Outcome == "approve" {
			p.yes[who] = true
		}
		p.ended = p.ended || row != nil && row.state == "denied" && r.Outcome == "deny"
	case "cancel":
		p.ended = p.ended || row != nil && row.state == "cancelled"
	case "intent":
		need := map[string]int{"orders": 1, "pairs": 2}[r.Queue]
		switch {
		case !p.planned:
			w.fault("%s intends %d messages of plan %s, which no record before it names", describe(r), len(r.Items), r.Plan)
		case row != nil && row.mode == "direct" && r.Queue != "mail":
			w.fault("%s is direct on %s", describe(r), r.Queue)
		case row != nil && row.mode != "direct" && len(p.yes) < max(need, 1):
			w.fault("%s intends what %d people approved; it takes %d", describe(r), len(p.yes), need)
		}
		for _, it := range r.Items {
			p.last[it.N] = "intended"
		}
	case "outcome", "resolve":
		for _, it := range r.Items {
			if it.State == "done" && p.last[it.N] != "intended" && p.last[it.N] != "done" && p.last[it.N] != "unknown" {
				w.fault("%s says that message %d of plan %s was sent, and no record before says that it would be", describe(r), it.N, r.Plan)
			}
			p.last[it.N] = it.State
		}
		// A person's word about what was unknown ends the plan as well.
		p.ended = p.ended || r.Tool == "resolve" || row != nil && r.Outcome == row.state
	}
}
