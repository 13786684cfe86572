package gate

import (
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

func (d *draft) result(status string) *RequestResult {
	return &RequestResult{
		Status: status, Queue: d.args.Queue, Messages: len(d.items), LeftOut: d.left(), Rule: d.rule.Rule, Why: d.whyNotDirect(),
		Who: d.who(), Effect: d.t.store.Can(d.args.Queue).Effect, Items: d.leftItems(),
	}
}

func (d *draft) left() map[string]int {
	if len(d.leftOut) == 0 {
		return nil
	}
	return d.leftOut
}

func (d *draft) leftItems() (out []ItemOutcome) {
	for _, w := range d.why {
		out = append(out, ItemOutcome{ID: w.ID, Outcome: "left out", Why: w.Why})
	}
	return out
}

func (d *draft) who() string {
	if d.effect == policy.Direct {
		return ""
	}
	return d.t.q.Approval.Who()
}

func (d *draft) whyNotDirect() string {
	if d.over != "" {
		return upper(d.over) + ", so a person decides."
	}
	return d.rule.Why
}

func (d *draft) pending(row ledger.Plan, p *plan.Plan) *RequestResult {
	res := d.result("pending_approval")
	res.RequestID, res.Digest, res.Waiting = row.ID, row.Digest, len(d.items)
	res.Expires, res.NotAfter = stamp(p.Expires), stamp(p.NotAfter)
	res.Next = "A person decides outside this conversation. Ask again with get_redrive in a few minutes."
	return res
}

func upper(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-32) + s[1:]
}
