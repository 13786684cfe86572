package gate

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// freeze makes the plan of a draft.
func (c *call) freeze(d *draft) (*plan.Plan, error) {
	q := d.t.q
	now, err := c.st.ledger.Now()
	if err != nil {
		return nil, refuse(CodeClosed, "%s. Nothing is sent until a person has set the clock right.", upper(err.Error()))
	}
	p := &plan.Plan{
		V: plan.Version, ID: ledger.NewID("r"), Mode: "approval", Queue: q.Name,
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
		p.Mode, p.PerHour = "direct", d.limits.PerHour
		p.Expires = now.Add(c.pol.Defaults.DirectTTL)
		p.NotAfter = p.Expires
	}
	if d.args.Fix != nil {
		p.Fix = &plan.Fix{Ref: d.args.Fix.Ref, At: stamp(d.fixAt)}
	}
	if d.sel.group != "" {
		p.GroupLabel = d.label
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
// that a plan in the ledger can always be shown and verified; the log's record
// of the plan comes before anybody can decide or run it, because a plan without
// one is cancelled here and never started.
func (c *call) place(ctx context.Context, d *draft) (*RequestResult, error) {
	p, err := c.freeze(d)
	if err != nil {
		return nil, err
	}
	row, err := c.keep(ctx, d, p)
	if err != nil {
		return nil, err
	}
	if err := c.recordPlan(ctx, row, p); err != nil {
		_, cerr := c.st.ledger.Cancel(context.WithoutCancel(ctx), row.ID, "it could not be recorded")
		return nil, auditRefusal(errors.Join(err, cerr))
	}
	if d.effect != policy.Direct {
		return d.pending(row, p), nil
	}
	return c.runDirect(ctx, d, row)
}

// keep stores plan, items and originals, and claims the letters.
func (c *call) keep(ctx context.Context, d *draft, p *plan.Plan) (ledger.Plan, error) {
	data, digest, err := plan.Encode(p)
	if err != nil {
		return ledger.Plan{}, err
	}
	if _, err := c.st.log.PutObject(data); err != nil {
		return ledger.Plan{}, auditRefusal(err)
	}
	secrets, err := d.secrets()
	if err == nil {
		err = c.st.log.PutErasable(digest, secrets)
	}
	if err != nil {
		return ledger.Plan{}, auditRefusal(err)
	}
	row := ledger.Plan{ID: p.ID, Digest: digest, Bytes: data, Queue: p.Queue, Letters: d.t.at.Letters(), Physical: p.Physical, Mode: p.Mode,
		State: ledger.Pending, Kind: c.caller.Kind, Principal: c.caller.Principal, Session: c.caller.Session,
		Same: d.args.same(), Idem: d.args.IdempotencyKey, Created: p.Created, Expires: p.Expires, NotAfter: p.NotAfter}
	if p.Mode == "direct" {
		row.State = ledger.Approved
	}
	caps := ledger.Caps{PlansPerQueue: d.t.q.Approval.MaxPending, PerHour: p.PerHour}
	supersede, err := c.superseded(ctx, d)
	if err != nil {
		return row, err
	}
	if err := c.st.ledger.Create(ctx, row, d.items, caps, supersede...); err != nil {
		return row, createRefusal(d, err)
	}
	return row, c.st.ledger.Snapshot(ctx, row.ID, d.befores, c.pol.Defaults.Snapshots.Keep)
}

// superseded are the plans that this request takes the place of: the one it
// names, if it is the caller's own, and for a person those of agents.
func (c *call) superseded(ctx context.Context, d *draft) ([]string, error) {
	if d.args.Replace == "" {
		return nil, nil
	}
	p, err := c.st.ledger.Get(ctx, d.args.Replace)
	if err != nil {
		return nil, noRequest(d.args.Replace, err)
	}
	if !c.owns(p) && !(c.caller.Kind == KindPerson && p.Kind == KindAgent) {
		return nil, refuse(CodeState, "Request %s is not yours to replace.", p.ID)
	}
	if p.State != ledger.Pending {
		return nil, refuse(CodeState, "Request %s is %s; only a pending one can be replaced.", p.ID, p.State)
	}
	return []string{p.ID}, nil
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
		return refuse(CodeLimit, "%s already has %d requests that wait for a person. Wait until some are decided, or cancel one of yours.", d.args.Queue, d.t.q.Approval.MaxPending)
	case errors.Is(err, ledger.ErrPerHour):
		return refuse(CodeLimit, "Another request took the rest of the hour's limit of %s. Request again and it will be left for a person.", d.args.Queue)
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

func (c *call) recordPlan(ctx context.Context, row ledger.Plan, p *plan.Plan) error {
	rec := c.record(audit.PhasePlan)
	rec.Plan, rec.Rule, rec.Effect, rec.Outcome = row.Digest, p.Rule, p.Mode, row.ID
	for _, it := range p.Items {
		rec.Items = append(rec.Items, audit.Item{N: it.N, ID: it.ID, Commit: it.Before})
	}
	head, err := c.st.log.Append(ctx, rec)
	if err != nil {
		return err
	}
	return c.st.ledger.SetHead(ctx, ledger.Head{Log: head.Log, Seq: head.Seq, Hash: head.Hash})
}

func (d *draft) result(status string) *RequestResult {
	return &RequestResult{
		Status: status, Queue: d.args.Queue, Messages: len(d.items), LeftOut: d.left(), Rule: d.rule.Rule, Why: d.whyNotDirect(),
		Who: d.who(), Effect: d.t.store.Can(d.args.Queue).Effect, Items: d.leftItems(),
		Next: fmt.Sprintf("Nothing was requested. Without dry_run this would be: %s.", d.effect),
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

// runDirect runs a plan that needs nobody, and waits for it as long as a call
// may take.
func (c *call) runDirect(ctx context.Context, d *draft, row ledger.Plan) (*RequestResult, error) {
	type end struct {
		err error
	}
	done := make(chan end, 1)
	c.s.runs.Add(1)
	c.s.g.runs.Add(1)
	go func() {
		defer c.s.g.runs.Done()
		defer c.s.runs.Done()
		_, err := c.execute(c.s.live, row, nil)
		done <- end{err}
	}()
	wait := time.NewTimer(c.s.g.o.DirectWait)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	case <-ctx.Done():
	}
	now, err := c.st.ledger.Get(context.WithoutCancel(ctx), row.ID)
	if err != nil {
		return nil, err
	}
	res, err := c.result(context.WithoutCancel(ctx), now, false)
	if err != nil {
		return nil, err
	}
	res.LeftOut, res.Rule = d.left(), d.rule.Rule
	return &res, nil
}
