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
	"unicode/utf8"

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
		audit.Arg{Key: "replace", Value: args.Replace}, audit.Arg{Key: "reason", Value: words(args.Reason)})...)
	if err != nil {
		return nil, err
	}
	args, err = c.cleanArgs(args)
	var res *RequestResult
	if err == nil {
		res, err = c.request(ctx, args, sel, fixAt)
	}
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
	if err = checkName("patch_id", a.PatchID); err != nil {
		return sel, fixAt, err
	}
	if err = checkName("replace", a.Replace); err != nil {
		return sel, fixAt, err
	}
	if err = checkText("idempotency_key", a.IdempotencyKey, false); err != nil {
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

// cleanArgs takes out of the caller's words what the policy hides by pattern:
// they are kept in the plan and shown to people.
func (c *call) cleanArgs(a RedriveArgs) (RedriveArgs, error) {
	if c.clean(a.IdempotencyKey) != a.IdempotencyKey {
		return a, refuse(CodeBadArgument, "`idempotency_key` reads like a value that the policy hides. Use a random one.")
	}
	a.Reason = c.clean(a.Reason)
	if a.Fix != nil {
		a.Fix = &Fix{Ref: c.clean(a.Fix.Ref), At: a.Fix.At}
	}
	return a, nil
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
	replace *ledger.Plan // the request that this one takes the place of
	bodies  int          // bytes that are kept of what is patched, before and after
}

// maxBodies bounds what a plan keeps of patched bodies, in bytes: they are held
// in memory, in the ledger and beside the log.
const maxBodies = 32 << 20

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
		return c.dryRun(ctx, d)
	}
	return c.place(ctx, d)
}

// dryRun says what would happen, as far as that can be known now.
func (c *call) dryRun(ctx context.Context, d *draft) (*RequestResult, error) {
	res := d.result("dry_run")
	res.Next = fmt.Sprintf("Nothing was requested. Without dry_run this would be: %s.", d.effect)
	if why := c.st.stopped(); why != "" {
		res.Next = "Nothing was requested, and now it would be refused: redrives are stopped for everyone: " + why + "."
		return res, nil
	}
	if d.effect == policy.Direct {
		return res, nil
	}
	waiting, err := c.st.ledger.Find(ctx, ledger.Pending)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, p := range waiting {
		if p.Queue == d.args.Queue && (d.replace == nil || p.ID != d.replace.ID) {
			n++
		}
	}
	if n >= d.t.q.Approval.MaxPending {
		return nil, tooMany(d)
	}
	return res, nil
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
	if err := c.superseded(ctx, d); err != nil {
		return err
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
	if d.k, err = c.learn(ctx, d.t, d.sel.ids, d.sel.groups()...); err != nil {
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
			d.leave(l.ID, "patch_does_not_apply", d.t.say(err, &v))
			return nil
		}
		if d.bodies += len(out.body) + len(l.Payload.Bytes); d.bodies > maxBodies {
			return refuse(CodeLimit, "The patched bodies of this request have more than %d MB together. Request fewer letters at once.", maxBodies>>20)
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
		d.leave(l.ID, "never", c.refusal(d.t.q, v, dec))
		return nil
	}
	d.weighLimits(l, dec)
	if strict := policy.Stricter(d.effect, dec.Effect); strict != d.effect || d.rule.Rule == "" {
		d.effect, d.rule = strict, dec
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
	fmt.Fprintf(&b, "Nothing is requested: %d of %d letters cannot be redriven.", left, left+len(d.items))
	for _, w := range d.why[:min(3, len(d.why))] {
		fmt.Fprintf(&b, " %s: %s.", quote(w.ID), w.Why)
	}
	if len(d.items) > 0 {
		b.WriteString(" Leave these ids out, or settle them first.")
	}
	return refuse(code, "%s", b.String())
}
