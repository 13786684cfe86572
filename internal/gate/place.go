package gate

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Modes of a plan.
const (
	modeDirect   = "direct"   // it needs nobody, and ends with the session that asked
	modeApproval = "approval" // people decide
)

// freeze makes the plan of a draft.
func (c *call) freeze(d *draft) (*plan.Plan, error) {
	q := d.t.q
	now, err := c.st.ledger.Now()
	if err != nil {
		return nil, refuse(CodeClosed, "%s. Nothing is sent until a person has set the clock right.", upper(err.Error()))
	}
	p := &plan.Plan{
		V: plan.Version, ID: ledger.NewID("r"), Mode: modeApproval, Queue: q.Name,
		Target: d.t.at.String(), Physical: d.t.at.Physical(), Destination: d.t.at.Physical(),
		Effect: d.t.store.Can(q.Name).Effect, Attempts: string(q.Send.Attempts),
		Policy: c.pol.Digest, Rule: d.rule.Rule, Need: need(q, d.effect),
		Requester: plan.Requester{Kind: c.caller.Kind, Principal: c.caller.Principal, Client: c.caller.Client,
			Session: c.caller.Session, OSUser: c.caller.OSUser, Host: c.caller.Host},
		Reason: d.args.Reason, Group: d.sel.group, Hidden: d.hidden, Rate: q.Send.Rate,
		Created: now, Expires: now.Add(q.Approval.TTL), Nonce: nonce(),
		Body: d.ch != nil && d.ch.kind == kindBody,
	}
	p.NotAfter = p.Expires.Add(q.Approval.ValidFor)
	if d.effect == policy.Direct {
		p.Mode, p.PerHour = modeDirect, d.limits.PerHour
		p.Expires = now.Add(c.pol.Defaults.DirectTTL)
		p.NotAfter = p.Expires
	}
	if d.args.Fix != nil {
		p.Fix = &plan.Fix{Ref: d.args.Fix.Ref, At: stamp(d.fixAt)}
	}
	if d.sel.group != "" {
		p.GroupLabel = oneLine(d.label, 120)
	}
	for path := range d.paths {
		p.Patch = append(p.Patch, path)
	}
	slices.Sort(p.Patch)
	for i := range d.items {
		p.Items = append(p.Items, freezeItem(i, d.items[i]))
	}
	return p, nil
}

func freezeItem(n int, it ledger.Item) plan.Item {
	out := plan.Item{N: n, ID: showID(it.Ref.ID), Mark: it.Ref.Mark, Before: plan.Before(it.Salt, it.Ref.Digest)}
	if it.Body != nil {
		out.After = plan.After(it.Salt, it.Ref.Digest, it.Body)
	}
	return out
}

func need(q *policy.Queue, e policy.Effect) plan.Need {
	n := plan.Need{Effect: string(e)}
	if e == policy.Direct {
		return n
	}
	n.From, n.Count, n.Proof, n.Separation, n.ValidFor = q.Approval.People(), q.Approval.Count, q.Approval.Proof, q.Approval.Separation, q.Approval.ValidFor
	return n
}

func nonce() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// place freezes the request, claims its letters, and runs it if it is direct.
//
// Order: the plan's bytes stand beside the log before the ledger names them, so
// that a plan in the ledger can always be shown and verified, and every later
// record about it names their digest. If the log's record of the plan itself
// cannot be written, or the caller takes the call back meanwhile, the plan is
// cancelled.
func (c *call) place(ctx context.Context, d *draft) (*RequestResult, error) {
	row, p, err := c.keep(ctx, d)
	if errors.Is(err, ledger.ErrPerHour) {
		d.over = "requests that are running take the rest of what is allowed in an hour without a person"
		d.effect = policy.EffectApproval
		if err = d.needsFix(); err == nil {
			row, p, err = c.keep(ctx, d)
		}
	}
	if err != nil {
		return nil, createRefusal(d, err)
	}
	live := context.WithoutCancel(ctx)
	if err := c.recordPlan(live, d, row, p); err != nil {
		return nil, c.takeBack(live, row, auditRefusal(err))
	}
	if ctx.Err() != nil {
		return nil, c.takeBack(live, row, refuse(CodeState, "The call was taken back, so request %s is cancelled and nothing of it is sent.", row.ID))
	}
	if d.effect != policy.Direct {
		return d.pending(row, p), nil
	}
	return c.runDirect(ctx, d, row)
}

// keep stores plan and items, and claims the letters.
func (c *call) keep(ctx context.Context, d *draft) (row ledger.Plan, p *plan.Plan, err error) {
	if p, err = c.freeze(d); err != nil {
		return row, nil, err
	}
	data, digest, err := plan.Encode(p)
	if err != nil {
		return row, nil, err
	}
	secrets, err := d.secrets()
	if err == nil {
		_, err = c.st.log.PutObject(data)
	}
	if err == nil {
		err = c.st.log.PutErasable(digest, secrets)
	}
	if err != nil {
		return row, nil, auditRefusal(err)
	}
	row = ledger.Plan{ID: p.ID, Digest: digest, Bytes: data, Queue: p.Queue, Letters: d.t.at.Letters(), Physical: p.Physical, Mode: p.Mode,
		State: ledger.Pending, Kind: c.caller.Kind, Principal: c.caller.Principal, Session: c.caller.Session,
		Same: d.args.same(), Idem: d.args.IdempotencyKey, Created: p.Created, Expires: p.Expires, NotAfter: p.NotAfter,
		Keep: c.pol.Defaults.Snapshots.Keep}
	if d.effect == policy.Direct {
		row.State = ledger.Approved
	}
	var supersede []string
	if d.replace != nil {
		supersede = []string{d.replace.ID}
	}
	caps := ledger.Caps{PlansPerQueue: d.t.q.Approval.MaxPending, PerHour: p.PerHour}
	return row, p, c.st.ledger.Create(ctx, row, d.items, caps, supersede...)
}

// superseded finds the plan that this request takes the place of: the caller's
// own, or for a person also an agent's.
func (c *call) superseded(ctx context.Context, d *draft) error {
	if d.args.Replace == "" {
		return nil
	}
	p, err := c.st.ledger.Get(ctx, d.args.Replace)
	if err != nil {
		return noRequest(d.args.Replace, err)
	}
	if !c.owns(p) && !(c.caller.Kind == KindPerson && p.Kind == KindAgent) {
		return refuse(CodeState, "Request %s is not yours to replace.", p.ID)
	}
	if p.State != ledger.Pending {
		return refuse(CodeState, "Request %s is %s; only a pending one can be replaced.", p.ID, p.State)
	}
	d.replace = &p
	return nil
}

func tooMany(d *draft) error {
	return refuse(CodeLimit, "%s already has %d requests that wait for a person. Wait until some are decided, or cancel one of yours.", d.args.Queue, d.t.q.Approval.MaxPending)
}

func createRefusal(d *draft, err error) error {
	var claimed *ledger.ClaimedError
	var key *ledger.IdemError
	switch {
	case errors.As(err, &claimed):
		for id, by := range claimed.By {
			return refuse(CodeClaimed, "Nothing is requested: request %s already has the letter %s. See get_redrive.", by, quote(showID(id)))
		}
	case errors.As(err, &key):
		return refuse(CodeBadArgument, "`idempotency_key` was used for request %s. See get_redrive.", key.Plan)
	case errors.Is(err, ledger.ErrTooMany):
		return tooMany(d)
	case isMove(err):
		return refuse(CodeState, "Request %s changed meanwhile and cannot be replaced any more. See get_redrive.", d.args.Replace).because(err)
	}
	return err
}

// secrets is what proves a plan's commitments, a JSON line an item: the salt,
// the digest of the envelope, and the body that is sent instead of the stored
// one. It stands apart from the log, so that content can be erased and the chain
// stays valid.
func (d *draft) secrets() ([]byte, error) {
	type line struct {
		N        int    `json:"n"`
		ID       string `json:"id"`
		Salt     string `json:"salt"`
		Envelope string `json:"envelope_sha256"`
		Body     string `json:"body,omitempty"` // base64
	}
	var out []byte
	for i, it := range d.items {
		l := line{N: i, ID: showID(it.Ref.ID), Salt: hex.EncodeToString(it.Salt[:]), Envelope: it.Ref.Hex()}
		if it.Body != nil {
			l.Body = base64.StdEncoding.EncodeToString(it.Body)
		}
		b, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), '\n')
	}
	return out, nil
}

func (c *call) recordPlan(ctx context.Context, d *draft, row ledger.Plan, p *plan.Plan) error {
	if err := c.tell(ctx, row.ID, row.State, planRecord(c.record(""), row, p)); err != nil {
		return err
	}
	if d.replace == nil {
		return nil
	}
	old := *d.replace
	old.State, old.Why = ledger.Cancelled, "superseded by "+row.ID
	return c.tell(ctx, old.ID, old.State, c.endOf(old, c.record("")))
}
