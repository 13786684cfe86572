package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
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
	denied  map[string][]ledger.Denial
	items   []ledger.Item
	leftOut map[string]int
	why     []ItemWhy // the first letters left out or refused
	more    int       // letters of the group that are too many to be weighed
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
	if err := c.upToDate(ctx); err != nil {
		return nil, err
	}
	t, err := c.open(ctx, args.Queue)
	if err != nil {
		return nil, err
	}
	if err := c.alone(ctx, c.pol, args.Queue, t.at); err != nil {
		return nil, err
	}
	d := &draft{t: t, args: args, sel: sel, fixAt: fixAt, leftOut: map[string]int{}, paths: map[string]bool{}, effect: policy.Direct}
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
	res.WouldBe = string(d.effect)
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
	var err error
	if d.more, err = c.resolve(ctx, d.t, &d.sel, max(d.sel.max, maxWeighed)); err != nil {
		return err
	}
	ids := d.sel.ids
	if d.sel.group != "" {
		ids = nil // what is known about each is asked where it is weighed
	}
	d.k, err = c.learn(ctx, d.t, ids, d.sel.groups()...)
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
