package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/approval"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
)

const (
	decisionApprove = true
	decisionDeny    = false
)

func decisionWord(yes bool) string {
	if yes {
		return plan.Approve
	}
	return plan.Deny
}

func (s *session) decide(ctx context.Context, id, digest string, yes bool, reason string) (*RequestResult, error) {
	if err := checkText("reason", reason, !yes); err != nil {
		return nil, s.refusedArgs(ctx, decisionWord(yes), "", err)
	}
	c, err := s.begin(ctx, decisionWord(yes), "", audit.Arg{Key: "request", Value: words(quote(id))})
	if err != nil {
		return nil, err
	}
	res, err := c.decide(ctx, id, digest, yes, reason)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *call) decide(ctx context.Context, id, digest string, yes bool, reason string) (*RequestResult, error) {
	row, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if (yes || digest != "") && digest != row.Digest {
		return nil, refuse(CodeChanged, "The digest given is not that of request %s. Look at it again.", row.ID)
	}
	if row.State != ledger.Pending {
		return nil, refuse(CodeState, "Request %s is %s; only a pending one can be decided.", row.ID, row.State)
	}
	// No store is asked: a person can say no while it is down.
	w, err := c.paper(row)
	if err != nil {
		return nil, c.cannotRun(ctx, row, err)
	}
	q := c.pol.Queues[row.Queue]
	if q == nil && yes {
		return nil, refuse(CodeState, "The policy has no queue %s any more, so request %s can only be denied or cancelled.", row.Queue, row.ID)
	}
	w.need = w.needNow(q)
	asked := approval.Request{Digest: row.Digest, Principal: w.doc.Requester.Principal}
	if !approval.May(w.need, asked, c.caller.Principal) {
		return nil, refuse(CodePolicy, "%s may not decide about %s: it takes %s.", c.caller.Principal, row.ID, w.need.From).
			hint("people of the policy decide under their own name; separation: %s", w.need.Separation)
	}
	d, err := c.recordDecision(ctx, w, yes, c.clean(reason))
	if err != nil {
		return nil, err
	}
	denyFor := 24 * time.Hour
	if q != nil {
		denyFor = q.Approval.DenyFor
	}
	return c.storeDecision(ctx, w, d, denyFor)
}

// recordDecision writes the decision to the log first: what the ledger knows of
// it is worth nothing without that record.
func (c *call) recordDecision(ctx context.Context, w *warrant, yes bool, reason string) (ledger.Decision, error) {
	statement, err := c.statement(w.doc, w.row.Digest, decisionWord(yes))
	if err != nil {
		return ledger.Decision{}, err
	}
	object, err := c.st.log.PutObject([]byte(strings.Join(statement, "\n") + "\n"))
	if err != nil {
		return ledger.Decision{}, auditRefusal(err)
	}
	now, err := c.st.ledger.Now()
	if err != nil {
		return ledger.Decision{}, refuse(CodeClosed, "%s.", upper(err.Error()))
	}
	rec := c.record(audit.PhaseApproval)
	rec.Plan, rec.Queue, rec.Rule, rec.Proof, rec.Outcome = w.row.Digest, w.row.Queue, w.doc.Rule, "none", decisionWord(yes)
	rec.Args = append(rec.Args, audit.Arg{Key: "person", Value: c.caller.Principal}, audit.Arg{Key: "request", Value: w.row.ID},
		audit.Arg{Key: "statement", Value: object}, audit.Arg{Key: "reason", Value: reason})
	head, err := c.st.log.Append(ctx, rec)
	if err != nil {
		return ledger.Decision{}, auditRefusal(err)
	}
	if err := c.st.ledger.SetHead(ctx, ledger.Head{Log: head.Log, Seq: head.Seq, Hash: head.Hash}); err != nil {
		return ledger.Decision{}, err
	}
	return ledger.Decision{Plan: w.row.ID, Person: c.caller.Principal, Digest: w.row.Digest, Proof: "none", Reason: reason,
		Yes: yes, At: now, Seq: head.Seq, Hash: head.Hash}, nil
}

func (c *call) storeDecision(ctx context.Context, w *warrant, d ledger.Decision, denyFor time.Duration) (*RequestResult, error) {
	to, denyUntil, next := ledger.State(""), time.Time{}, ""
	if d.Yes {
		ds, err := c.decisions(ctx, w.row)
		if err != nil {
			return nil, c.cannotRun(ctx, w.row, err)
		}
		ds = append(ds, approval.Decision{Person: d.Person, Yes: true, Digest: d.Digest, Proof: d.Proof, At: d.At})
		v := approval.Judge(w.need, approval.Request{Digest: w.row.Digest, Principal: w.doc.Requester.Principal}, ds, d.At)
		if v.Approved {
			to = ledger.Approved
		} else {
			next = "Recorded. It has " + v.Missing + "."
		}
	} else {
		to = ledger.Denied
		denyUntil = d.At.Add(denyFor)
	}
	err := c.st.ledger.Decide(ctx, d, to, denyUntil)
	switch {
	case errors.Is(err, ledger.ErrDecided):
		return nil, refuse(CodeState, "%s has already decided about %s.", d.Person, w.row.ID)
	case isMove(err):
		return nil, refuse(CodeState, "Request %s is no longer pending.", w.row.ID).because(err)
	case err != nil:
		return nil, err
	}
	row, err := c.st.ledger.Get(ctx, w.row.ID)
	if err != nil {
		return nil, err
	}
	res, err := c.result(ctx, row, false)
	if next != "" {
		res.Next = next
	}
	return &res, err
}

func isMove(err error) bool {
	_, ok := errors.AsType[*ledger.MoveError](err)
	return ok
}

// find reads a plan by its id, ending first what is due.
func (c *call) find(ctx context.Context, id string) (ledger.Plan, error) {
	if err := c.tidy(ctx); err != nil {
		return ledger.Plan{}, err
	}
	row, err := c.st.ledger.Get(ctx, id)
	if err != nil {
		return row, noRequest(id, err)
	}
	c.queue = row.Queue
	return row, nil
}

func noRequest(id string, err error) error {
	if errors.Is(err, ledger.ErrNoPlan) {
		return refuse(CodeNoRequest, "There is no request %s. get_redrive without an id lists the open ones.", quote(id))
	}
	return err
}

// statement is what a person reads before deciding.
func (c *call) statement(doc *plan.Plan, digest, decision string) ([]string, error) {
	head, err := c.st.log.HeadNow()
	if err != nil {
		return nil, fmt.Errorf("reading the log's head: %w", err)
	}
	return plan.Statement(doc, digest, decision, plan.Anchor{Log: head.Log, Seq: head.Seq, Hash: head.Hash}), nil
}
