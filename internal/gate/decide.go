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
	if err := c.tellRequest(ctx, row); err != nil {
		return nil, err
	}
	// No store is asked: a person can say no while it is down.
	w, err := c.ballot(row)
	if err != nil {
		return nil, c.cannotRun(ctx, row, err)
	}
	if yes && c.pol.Queues[row.Queue] == nil {
		return nil, refuse(CodeState, "The policy has no queue %s any more, so request %s can only be denied or cancelled.", row.Queue, row.ID)
	}
	may := approval.MayDeny
	if yes {
		may = approval.May
	}
	if !may(w.need, w.asked(), c.caller.Principal) {
		return nil, refuse(CodePolicy, "%s may not decide about %s: it takes %s.", c.caller.Principal, row.ID, w.need.From).
			hint("people of the policy decide under their own name; separation: %s", w.need.Separation)
	}
	next, err := c.say(ctx, w, yes, c.clean(reason))
	switch {
	case errors.Is(err, ledger.ErrDecided):
		return nil, refuse(CodeState, "%s has already decided about %s.", c.caller.Principal, row.ID)
	case isMove(err):
		return nil, refuse(CodeState, "Request %s is no longer pending.", row.ID).because(err)
	case err != nil:
		return nil, err
	}
	if row, err = c.st.ledger.Get(ctx, row.ID); err != nil {
		return nil, err
	}
	res, err := c.result(ctx, row, false)
	if next != "" && row.State == ledger.Pending {
		res.Next = next
	}
	return &res, err
}

// ballot is a plan with what it takes to decide about it now.
func (c *call) ballot(row ledger.Plan) (*warrant, error) {
	w, err := c.paper(row)
	if err == nil {
		w.need = w.needNow(c.pol.Queues[row.Queue])
	}
	return w, err
}

func (w *warrant) asked() approval.Request {
	return approval.Request{Digest: w.row.Digest, Principal: w.doc.Requester.Principal}
}

// say keeps a decision in the ledger, writes it to the log, and lets it count. A
// process that dies after the first step leaves nothing that counts, and the
// person decides anew; one that dies after the second leaves the rest to
// whoever comes next (unconfirmed). next says what is still missing.
func (c *call) say(ctx context.Context, w *warrant, yes bool, reason string) (next string, err error) {
	statement, err := c.statement(w.doc, w.row.Digest, decisionWord(yes))
	if err != nil {
		return "", err
	}
	object, err := c.st.log.PutObject([]byte(strings.Join(statement, "\n") + "\n"))
	if err != nil {
		return "", auditRefusal(err)
	}
	now, err := c.st.ledger.Now()
	if err != nil {
		return "", refuse(CodeClosed, "%s.", upper(err.Error()))
	}
	newest, err := c.st.log.HeadNow()
	if err != nil {
		return "", auditRefusal(err)
	}
	d := ledger.Decision{Plan: w.row.ID, Person: c.caller.Principal, Digest: w.row.Digest, Proof: "none", Reason: reason, Yes: yes, At: now, Seq: newest.Seq}
	if err := c.st.ledger.Decide(ctx, d); err != nil {
		return "", err
	}
	rec := c.record(audit.PhaseApproval)
	rec.Plan, rec.Queue, rec.Rule, rec.Proof, rec.Outcome = d.Digest, w.row.Queue, w.doc.Rule, d.Proof, decisionWord(yes)
	rec.Args = append(rec.Args, audit.Arg{Key: "person", Value: d.Person}, audit.Arg{Key: "request", Value: d.Plan},
		audit.Arg{Key: "statement", Value: object}, audit.Arg{Key: "reason", Value: reason})
	head, err := c.st.log.Append(ctx, rec)
	if err != nil {
		return "", auditRefusal(err)
	}
	return c.confirm(context.WithoutCancel(ctx), w, d, headOf(head))
}

// confirm lets a decision count that the log has.
func (c *call) confirm(ctx context.Context, w *warrant, d ledger.Decision, h ledger.Head) (next string, err error) {
	counts, err := c.st.ledger.Confirm(ctx, d, h, func(all []ledger.Decision) (ledger.State, time.Time, error) {
		if !d.Yes {
			return ledger.Denied, d.At.Add(c.denyFor(w.row.Queue)), nil
		}
		ds, err := c.vouched(ctx, all)
		if err != nil {
			return "", time.Time{}, err
		}
		v := approval.Judge(w.need, w.asked(), ds, d.At)
		if v.Approved {
			return ledger.Approved, time.Time{}, nil
		}
		next = "Recorded. It has " + v.Missing + "."
		return "", time.Time{}, nil
	})
	if _, void := errors.AsType[voidError](err); void {
		return "", c.cannotRun(ctx, w.row, err)
	}
	if err == nil && !counts {
		err = refuse(CodeState, "Request %s is no longer pending, so what you said is in the log and counts for nothing.", d.Plan)
	}
	return next, err
}

func (c *call) denyFor(queue string) time.Duration {
	if q := c.pol.Queues[queue]; q != nil {
		return q.Approval.DenyFor
	}
	return 24 * time.Hour
}

// unconfirmed lets decisions count that the log has and whose process died before
// they did.
func (c *call) unconfirmed(ctx context.Context) error {
	left, err := c.st.ledger.Unconfirmed(ctx)
	if err != nil {
		return err
	}
	for _, d := range left {
		head, err := c.inLog(ctx, d)
		if err != nil {
			return err
		}
		if head.Hash == "" {
			continue // it is about to be written, or never will be
		}
		row, err := c.st.ledger.Get(ctx, d.Plan)
		if err != nil {
			return err
		}
		w, err := c.ballot(row)
		if err == nil {
			_, err = c.confirm(ctx, w, d, head)
		}
		_, said := errors.AsType[*Refusal](err)
		_, void := errors.AsType[voidError](err)
		if err != nil && !said && !void && !errors.Is(err, ledger.ErrDecided) {
			return err
		} // else the plan cannot be run or has moved on, or somebody was faster
	}
	return nil
}

// inLog finds the record of a decision that was about to be written; empty if
// there is none.
func (c *call) inLog(ctx context.Context, d ledger.Decision) (h ledger.Head, err error) {
	q := audit.Query{From: d.Seq, Phase: audit.PhaseApproval, Plan: d.Digest}
	for rec, err := range audit.Read(ctx, c.st.folder, q) {
		if err != nil {
			return h, err
		}
		if decides(rec, d) {
			return ledger.Head{Log: rec.Log, Seq: rec.Seq, Hash: rec.Hash}, nil
		}
	}
	return h, nil
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
