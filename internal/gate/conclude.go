package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

// conclude decides about the request as a whole.
func (c *call) conclude(ctx context.Context, d *draft) error {
	left := 0
	for why, n := range d.leftOut {
		if why != leftBeyond && why != leftUnweighed {
			left += n
		}
	}
	if left > 0 && (d.sel.group == "" || len(d.items) == 0) {
		return d.refuse(left)
	}
	if len(d.items) == 0 {
		return refuse(CodeNothing, "No letter is left to redrive.")
	}
	if n, most := len(d.items), d.t.q.Approval.MaxMessages; n > most {
		return refuse(CodeLimit, "The request has %d letters; at most %d go into one.", n, most)
	}
	if d.effect == policy.Direct {
		if err := c.directLimits(ctx, d); err != nil {
			return err
		}
		if d.over != "" {
			d.effect = policy.EffectApproval
		}
	}
	return d.needsFix()
}

// needsFix asks for what was mended where the policy does, before people decide.
func (d *draft) needsFix() error {
	if d.effect != policy.Direct && slices.Contains(d.t.q.Approval.Require, "fix") && d.args.Fix == nil {
		return refuse(CodePolicy, "The policy of %s asks what was fixed: give `fix` with `ref` (a deploy, a ticket) and `at`.", d.args.Queue)
	}
	return nil
}

func (c *call) directLimits(ctx context.Context, d *draft) error {
	if m := d.limits.PerPlan; m > 0 && len(d.items) > m {
		d.over = fmt.Sprintf("%d letters at once, and %d are allowed without a person", len(d.items), m)
		return nil
	}
	if d.over != "" || d.limits.PerHour == 0 {
		return nil
	}
	used, err := c.st.ledger.Used(ctx, d.t.at.Physical())
	if err == nil && used+len(d.items) > d.limits.PerHour {
		d.over = fmt.Sprintf("%d letters on top of %d in the last hour, and %d are allowed without a person", len(d.items), used, d.limits.PerHour)
	}
	return err
}

// refuse names what stands against explicit ids, or against all of a group.
func (d *draft) refuse(left int) error {
	code := CodePolicy
	switch {
	case d.leftOut["claimed"] > 0:
		code = CodeClaimed
	case d.leftOut["denied"] > 0:
		code = CodeDenied
	case d.leftOut["never"] > 0:
	case d.leftOut["gone"] > 0:
		code = CodeNoLetter
	case d.leftOut["changed"] > 0:
		code = CodeChanged
	case d.leftOut["patch_does_not_apply"] > 0:
		code = CodeBadArgument
	}
	var b strings.Builder
	if left+len(d.items) == 1 && len(d.why) == 1 {
		return refuse(code, "Nothing is requested. Letter %s: %s.", quote(d.why[0].ID), d.why[0].Why)
	}
	fmt.Fprintf(&b, "Nothing is requested: %d of %d letters cannot be redriven.", left, left+len(d.items))
	for _, w := range d.why[:min(3, len(d.why))] {
		name := quote(w.ID)
		if w.Letters > 1 {
			name = fmt.Sprintf("%s and %d more", name, w.Letters-1)
		}
		fmt.Fprintf(&b, " %s: %s.", name, w.Why)
	}
	if len(d.items) > 0 {
		b.WriteString(" Leave these ids out, or settle them first.")
	}
	if n := d.leftOut[leftUnweighed]; n > 0 {
		fmt.Fprintf(&b, " %d older letters of the group were not looked at; name some by `ids`.", n)
	}
	return refuse(code, "%s", b.String())
}

// addWhy notes what stands against a letter, each sentence once with the number
// of letters that it is about.
func addWhy(list []ItemWhy, id, sentence string) []ItemWhy {
	for i := range list {
		if list[i].Why == sentence {
			list[i].Letters = max(list[i].Letters, 1) + 1
			return list
		}
	}
	if len(list) == maxWhy {
		return list
	}
	return append(list, ItemWhy{ID: showID(id), Why: sentence})
}
