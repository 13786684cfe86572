package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// weigh reads every letter afresh, applies the patch and decides.
func (c *call) weigh(ctx context.Context, d *draft) error {
	err := c.fetch(ctx, d.t, d.sel.ids,
		func(l *backends.DeadLetter) error { return c.weighOne(d, l) },
		func(id string) { d.leave(id, "gone", backends.Gone.Sentence()) })
	if err != nil {
		return err
	}
	// The plan's order is the order in which the letters were named.
	order := map[string]int{}
	for i, id := range d.sel.ids {
		order[id] = i
	}
	slices.SortFunc(d.items, func(a, b ledger.Item) int { return order[a.Ref.ID] - order[b.Ref.ID] })
	befores := map[int][]byte{}
	for i, it := range d.items {
		if b, ok := d.befores[it.N]; ok {
			befores[i] = b
		}
		d.items[i].N = i
	}
	d.befores = befores
	return nil
}

func (c *call) weighOne(d *draft, l *backends.DeadLetter) error {
	v := d.t.look(c.pol, l, false)
	switch by := d.claims[l.ID]; {
	case !utf8.ValidString(l.ID) || !utf8.ValidString(l.Mark) || strings.ContainsRune(l.ID+l.Mark, 0):
		d.leave(l.ID, "unnameable", "its id or its time of death is no valid text, so no plan can name it")
		return nil
	case d.sel.group != "" && (v.group != d.sel.group || l.Times.Dead.After(d.sel.asOf)):
		d.leave(l.ID, "changed", "it left the group since the listing")
		return nil
	case by != "" && (d.replace == nil || by != d.replace.ID):
		d.leave(l.ID, "claimed", "request "+by+" has it")
		return nil
	}
	it := ledger.Item{Ref: l.Ref, Salt: plan.NewSalt()}
	var j judged
	if d.ch != nil {
		out, err := d.ch.apply(d.t.q, l)
		switch {
		case v.body.withheld != "":
			err = errors.New("its payload is withheld: " + v.body.withheld)
		case err == nil && out.same():
			err = errors.New("the patch changes nothing in it")
		}
		if err != nil {
			d.leave(l.ID, "patch_does_not_apply", d.t.say(err))
			return nil
		}
		if d.bodies += len(out.before) + len(out.after); d.bodies > maxBodies {
			return refuse(CodeLimit, "The patched bodies of this request have more than %d MB together. Request fewer letters at once.", maxBodies>>20)
		}
		it.Body, j = out.body, out.judged
		for _, p := range append(out.paths, out.hidden...) {
			d.paths[p] = true
		}
	}
	return c.decideOne(d, l, &v, it, j)
}

func (c *call) decideOne(d *draft, l *backends.DeadLetter, v *seen, it ledger.Item, j judged) error {
	if c.caller.Kind == KindAgent {
		if den, ok := d.denied[l.ID]; ok && den.Mark == l.Mark && den.SameBody(it.Body) {
			d.leave(l.ID, "denied", denialSentence(den))
			return nil
		}
	}
	dec := d.t.q.Decide(d.k.facts(c, l, v, j))
	if dec.Effect == policy.Never {
		d.leave(l.ID, "never", c.refusal(d.t.q, v, dec))
		return nil
	}
	d.weighLimits(l, dec)
	if strict := policy.Stricter(d.effect, dec.Effect); strict != d.effect || d.rule.Rule == "" {
		d.effect, d.rule = strict, dec
	}
	d.limits = policy.Tighter(d.limits, dec.Limits)
	d.hidden = max(d.hidden, v.body.places)
	if d.label == "" {
		d.label = v.label
	}
	if it.Body != nil {
		d.befores[len(d.items)] = slices.Clone(l.Payload.Bytes)
	}
	it.N = len(d.items)
	d.items = append(d.items, it)
	return nil
}

// refusal is what an agent is told about a letter that the policy forbids.
func (c *call) refusal(q *policy.Queue, v *seen, dec policy.Decision) string {
	why := dec.Why
	if v.message != "" {
		// Mostly "the error is permanent …", which the error itself can finish.
		subject := "the error " + quote(oneLine(v.message, 80))
		if rest, ok := strings.CutPrefix(why, "the error is "); ok {
			why = subject + " is " + rest
		} else {
			why = subject + ": " + why
		}
	}
	text := fmt.Sprintf("refused by rule %s: %s", dec.Rule, why)
	if dec.Allowed != "" {
		text += ". " + dec.Allowed
	}
	return strings.TrimSuffix(text, ".")
}

// weighLimits makes a letter that may not be sent directly again one for
// approval.
func (d *draft) weighLimits(l *backends.DeadLetter, dec policy.Decision) {
	if dec.Effect != policy.Direct {
		return
	}
	r := d.k.replays[l.ID]
	switch {
	case dec.Limits.PerMessage > 0 && r.Count >= dec.Limits.PerMessage:
		d.over = fmt.Sprintf("a letter was redriven %d times before, and %d are allowed without a person", r.Count, dec.Limits.PerMessage)
	case dec.Limits.Cooldown > 0 && r.Count > 0 && d.k.now.Sub(r.Last) < dec.Limits.Cooldown:
		d.over = fmt.Sprintf("a letter was redriven less than %s ago", dec.Limits.Cooldown)
	}
}

func (d *draft) leave(id, why, sentence string) {
	d.leftOut[why]++
	d.why = addWhy(d.why, id, sentence)
}

// conclude decides about the request as a whole.
func (c *call) conclude(ctx context.Context, d *draft) error {
	left := 0
	for why, n := range d.leftOut {
		if why != "beyond_max_messages" {
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
