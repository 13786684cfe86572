package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

func (s *session) request(ctx context.Context, args RedriveArgs) (*RequestResult, error) {
	sel, fixAt, err := args.check(s.g.o.Clock())
	if err != nil {
		return nil, s.refusedArgs(ctx, "request_redrive", args.Queue, err)
	}
	c, err := s.begin(ctx, "request_redrive", args.Queue, append(sel.args(),
		audit.Arg{Key: "patch_id", Value: args.PatchID}, audit.Arg{Key: "dry_run", Value: args.DryRun},
		audit.Arg{Key: "reason", Value: args.Reason})...)
	if err != nil {
		return nil, err
	}
	res, err := c.request(ctx, args, sel, fixAt)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (a RedriveArgs) check(now time.Time) (sel choice, fixAt time.Time, err error) {
	if sel, err = checkChoice(a.Queue, a.ID, a.IDs, a.Group, a.AsOf, a.MaxMessages); err != nil {
		return sel, fixAt, err
	}
	if err = checkText("reason", a.Reason, true); err != nil {
		return sel, fixAt, err
	}
	if len(a.IdempotencyKey) > 128 {
		return sel, fixAt, refuse(CodeBadArgument, "`idempotency_key` has %d bytes; at most 128 are taken.", len(a.IdempotencyKey))
	}
	if a.Fix == nil {
		return sel, fixAt, nil
	}
	if err = checkText("fix.ref", a.Fix.Ref, true); err != nil {
		return sel, fixAt, err
	}
	if fixAt, err = parseTime("fix.at", a.Fix.At); err != nil {
		return sel, fixAt, err
	}
	if fixAt.After(now) {
		return sel, fixAt, refuse(CodeBadArgument, "`fix.at` is in the future; a redrive comes after the fix.")
	}
	return sel, fixAt, nil
}

// same identifies what was asked, for idempotency keys.
func (a RedriveArgs) same() string {
	a.Reason, a.IdempotencyKey = "", ""
	data, err := json.Marshal(a)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// draft is a request while it is weighed, letter by letter.
type draft struct {
	t       *target
	args    RedriveArgs
	sel     choice
	fixAt   time.Time
	ch      *change // nil: as stored
	k       known
	claims  map[string]string
	denied  map[string]ledger.Denial
	items   []ledger.Item
	plan    []plan.Item
	befores map[int][]byte // original bodies of what is patched
	leftOut map[string]int
	why     []ItemWhy // the first letters left out or refused
	effect  policy.Effect
	rule    policy.Decision // of the strictest letter
	limits  policy.Limits
	over    string // why a direct redrive became one for approval
	paths   map[string]bool
	hidden  int
	label   string
	claimed string // a plan that has a letter
}

func (c *call) request(ctx context.Context, args RedriveArgs, sel choice, fixAt time.Time) (*RequestResult, error) {
	if why := c.st.stopped(); why != "" && !args.DryRun {
		return nil, refuse(CodeStopped, "Redrives are stopped for everyone: %s. Look and propose, but ask a person before you request again.", why)
	}
	if res, err := c.again(ctx, args); res != nil || err != nil {
		return res, err
	}
	t, err := c.open(ctx, args.Queue)
	if err != nil {
		return nil, err
	}
	d := &draft{t: t, args: args, sel: sel, fixAt: fixAt, leftOut: map[string]int{}, paths: map[string]bool{}, befores: map[int][]byte{}, effect: policy.Direct}
	if err := c.prepare(ctx, d); err != nil {
		return nil, err
	}
	if err := c.weigh(ctx, d); err != nil {
		return nil, err
	}
	if err := c.conclude(ctx, d); err != nil {
		return nil, err
	}
	if args.DryRun {
		return d.result("dry_run"), nil
	}
	return c.place(ctx, d)
}

// again answers a call that was made before under the same idempotency key.
func (c *call) again(ctx context.Context, args RedriveArgs) (*RequestResult, error) {
	if args.IdempotencyKey == "" || args.DryRun {
		return nil, nil
	}
	p, err := c.st.ledger.ByKey(ctx, c.caller.Kind, c.caller.Principal, args.IdempotencyKey)
	if errors.Is(err, ledger.ErrNoPlan) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if p.Same != args.same() {
		return nil, refuse(CodeBadArgument, "`idempotency_key` was used for another request, %s. Use a new one.", p.ID)
	}
	res, err := c.result(ctx, p, false)
	return &res, err
}

// prepare resolves the selection and learns what is known about the letters.
func (c *call) prepare(ctx context.Context, d *draft) error {
	if most := d.t.q.Approval.MaxMessages; d.sel.max > most {
		return refuse(CodeLimit, "`max_messages` of %s is at most %d, got %d.", d.args.Queue, most, d.sel.max)
	}
	if slices.Contains(d.t.q.Approval.Require, "fix") && d.args.Fix == nil && d.t.q.Effect != policy.Direct {
		return refuse(CodePolicy, "The policy of %s asks what was fixed: give `fix` with `ref` (a deploy, a ticket) and `at`.", d.args.Queue)
	}
	if d.args.PatchID != "" {
		if err := c.takePatch(ctx, d); err != nil {
			return err
		}
	}
	more, err := c.resolve(ctx, d.t, &d.sel)
	if err != nil {
		return err
	}
	if more > 0 {
		d.leftOut["beyond_max_messages"] = more
	}
	if d.k, err = c.learn(ctx, d.t, d.sel.ids, c.groupsOf(d)); err != nil {
		return err
	}
	if d.claims, err = c.st.ledger.Claims(ctx, d.t.at.Letters(), d.sel.ids); err != nil {
		return err
	}
	d.denied, err = c.st.ledger.Denials(ctx, d.t.at.Letters(), d.sel.ids)
	return err
}

func (c *call) takePatch(ctx context.Context, d *draft) error {
	p, err := c.st.ledger.Patch(ctx, d.args.PatchID)
	if errors.Is(err, ledger.ErrNoPatch) || err == nil && p.Queue != d.args.Queue {
		return refuse(CodeNoPatch, "There is no patch %s for %s, or its time is up. Call propose_patch.", quote(d.args.PatchID), d.args.Queue)
	}
	if err != nil {
		return err
	}
	ch, err := readChange(p.Kind, p.Data)
	if err == nil {
		err = ch.allowedBy(d.t.q) // the policy may have changed since
	}
	d.ch = &ch
	return err
}

// groupsOf names the error groups whose newest arrival a rule may ask for.
func (c *call) groupsOf(d *draft) map[string]bool {
	groups := map[string]bool{}
	if d.sel.group != "" {
		groups[d.sel.group] = true
	}
	return groups
}

// weigh reads every letter afresh, applies the patch and decides.
func (c *call) weigh(ctx context.Context, d *draft) error {
	if d.sel.group == "" && needsQuiet(d.t.q) {
		if err := c.learnGroups(ctx, d); err != nil {
			return err
		}
	}
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

// learnGroups finds the groups of letters that were named by id, to ask for the
// newest arrivals in them.
func (c *call) learnGroups(ctx context.Context, d *draft) (err error) {
	groups := map[string]bool{}
	err = c.fetch(ctx, d.t, d.sel.ids, func(l *backends.DeadLetter) error {
		v := d.t.look(c.pol, l, false)
		groups[v.group] = true
		return nil
	}, func(string) {})
	if err != nil {
		return err
	}
	d.k, err = c.learn(ctx, d.t, d.sel.ids, groups)
	return err
}

func (c *call) weighOne(d *draft, l *backends.DeadLetter) error {
	v := d.t.look(c.pol, l, false)
	if d.sel.group != "" && v.group != d.sel.group {
		d.leave(l.ID, "changed", "it left the group since the listing")
		return nil
	}
	if by := d.claims[l.ID]; by != "" && by != d.args.Replace {
		d.claimed = by
		d.leave(l.ID, "claimed", "request "+by+" has it")
		return nil
	}
	it := ledger.Item{Ref: l.Ref, Salt: plan.NewSalt()}
	patched := false
	if d.ch != nil {
		out, err := d.ch.apply(d.t.q, l)
		switch {
		case v.body.withheld != "":
			err = errors.New("its payload is withheld: " + v.body.withheld)
		case err == nil && out.same:
			err = errors.New("the patch changes nothing in it")
		}
		if err != nil {
			d.leave(l.ID, "patch_does_not_apply", err.Error())
			return nil
		}
		it.Body, patched = out.body, out.differs
		for _, p := range append(out.paths, out.hidden...) {
			d.paths[p] = true
		}
	}
	return c.decideOne(d, l, &v, it, patched)
}

func (c *call) decideOne(d *draft, l *backends.DeadLetter, v *seen, it ledger.Item, patched bool) error {
	if c.caller.Kind == KindAgent {
		if den, ok := d.denied[l.ID]; ok && den.Mark == l.Mark && den.SameBody(it.Body) {
			d.leave(l.ID, "denied", fmt.Sprintf("a person denied it in %s; it may be requested again after %s", den.Plan, stamp(den.Until)))
			return nil
		}
	}
	dec := d.t.q.Decide(d.k.facts(c, l, v, patched))
	if dec.Effect == policy.Never {
		d.rule = dec
		d.leave(l.ID, "never", c.refusal(d.t.q, v, dec))
		return nil
	}
	d.weighLimits(l, dec)
	if policy.Stricter(d.effect, dec.Effect) != d.effect || d.rule.Rule == "" || d.rule.Effect == policy.Never {
		d.effect = policy.Stricter(d.effect, dec.Effect)
		if dec.Effect == d.effect {
			d.rule = dec
		}
	}
	d.limits = policy.Tighter(d.limits, dec.Limits)
	d.hidden = max(d.hidden, len(v.body.hidden))
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
	text := "refused by rule " + dec.Rule + ": " + dec.Why
	if v.message != "" {
		text = fmt.Sprintf("refused by rule %s: the error %s: %s", dec.Rule, quote(oneLine(v.message, 80)), dec.Why)
	}
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
	if len(d.why) < maxWhy {
		d.why = append(d.why, ItemWhy{ID: showID(id), Why: sentence})
	}
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
	if d.effect != policy.Direct {
		return c.needsFix(d)
	}
	if err := c.directLimits(ctx, d); err != nil {
		return err
	}
	if d.over != "" {
		d.effect = policy.EffectApproval
		return c.needsFix(d)
	}
	return nil
}

// needsFix asks for what was mended where the policy does.
func (c *call) needsFix(d *draft) error {
	if slices.Contains(d.t.q.Approval.Require, "fix") && d.args.Fix == nil {
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
	fmt.Fprintf(&b, "Nothing is requested: %d of %d letters cannot be redriven.", left, left+len(d.items))
	for _, w := range d.why[:min(3, len(d.why))] {
		fmt.Fprintf(&b, " %s: %s.", quote(w.ID), w.Why)
	}
	if len(d.items) > 0 {
		b.WriteString(" Leave these ids out, or settle them first.")
	}
	return refuse(code, "%s", b.String())
}
