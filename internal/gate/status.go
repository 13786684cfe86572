package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
)

// maxItemsShown is how many messages of a request a result names one by one.
const maxItemsShown = 20

func (s *session) get(ctx context.Context, args GetArgs) (*StatusResult, error) {
	detailed, err := format(args.ResponseFormat)
	if err != nil {
		return nil, s.refusedArgs(ctx, "get_redrive", "", err)
	}
	if err := checkName("request_id", args.RequestID); err != nil {
		return nil, s.refusedArgs(ctx, "get_redrive", "", err)
	}
	c, err := s.begin(ctx, "get_redrive", "", audit.Arg{Key: "request", Value: args.RequestID})
	if err != nil {
		return nil, err
	}
	res, err := c.get(ctx, args.RequestID, detailed)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *call) get(ctx context.Context, id string, detailed bool) (*StatusResult, error) {
	if id == "" {
		return c.openRequests(ctx)
	}
	row, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	res, err := c.result(ctx, row, detailed)
	if err != nil {
		return nil, err
	}
	c.evidence(ctx, row, &res)
	return &StatusResult{Requests: []RequestResult{res}, Next: res.Next}, nil
}

func (c *call) openRequests(ctx context.Context) (*StatusResult, error) {
	if err := c.tidy(ctx); err != nil {
		return nil, err
	}
	rows, err := c.st.ledger.Find(ctx, ledger.Unknown, ledger.Pending, ledger.Approved, ledger.Running, ledger.Stopping)
	if err != nil {
		return nil, err
	}
	// What a person must settle comes first.
	slices.SortStableFunc(rows, func(a, b ledger.Plan) int { return rank(a.State) - rank(b.State) })
	out := &StatusResult{Requests: []RequestResult{}, Next: "Nothing is open."}
	for _, row := range rows {
		res, err := c.result(ctx, row, false)
		if err != nil {
			return nil, err
		}
		res.Items = nil
		out.Requests = append(out.Requests, res)
		out.Next = "Name a request_id to see its messages."
	}
	return out, nil
}

func rank(s ledger.State) int {
	return slices.Index([]ledger.State{ledger.Unknown, ledger.Running, ledger.Stopping, ledger.Approved, ledger.Pending}, s)
}

// result is the state of one request.
func (c *call) result(ctx context.Context, row ledger.Plan, detailed bool) (RequestResult, error) {
	doc, err := plan.Decode(row.Bytes)
	if err != nil {
		return RequestResult{}, err
	}
	n, err := c.st.ledger.Count(ctx, row.ID)
	if err != nil {
		return RequestResult{}, err
	}
	res := RequestResult{
		Status: status(row.State), RequestID: row.ID, Digest: row.Digest, Queue: row.Queue, Messages: len(doc.Items),
		Rule: doc.Rule, Why: oneLine(row.Why, 300), Sent: n.Sent, Skipped: n.Skipped, Failed: n.Failed, Unknown: n.Unknown + n.InDoubt,
		Waiting: n.Waiting, Effect: doc.Effect, NotAfter: stamp(doc.NotAfter), Decided: stamp(row.Decided),
	}
	if !row.State.Open() {
		res.Released, res.Waiting = res.Waiting, 0
	}
	if row.State == ledger.Pending {
		res.Expires = stamp(row.Expires)
		if q := c.pol.Queues[row.Queue]; q != nil {
			res.Who = q.Approval.Who()
		}
	}
	res.Next = c.nextStep(row, res)
	res.Items, err = c.itemOutcomes(ctx, row, detailed)
	return res, err
}

func status(s ledger.State) string {
	switch s {
	case ledger.Pending:
		return "pending_approval"
	case ledger.Stopping:
		return "running"
	}
	return string(s)
}

func (c *call) nextStep(row ledger.Plan, res RequestResult) string {
	switch row.State {
	case ledger.Pending:
		return "A person decides outside this conversation. Ask again with get_redrive in a few minutes."
	case ledger.Approved:
		return "Approved, and no executor runs it yet. Ask again with get_redrive."
	case ledger.Running, ledger.Stopping:
		if now, _ := c.st.ledger.Now(); now.After(row.Lease) {
			return "Its executor is gone. The next one goes on from there and asks the store first; a person can start it."
		}
		return "It is running. Ask again with get_redrive."
	case ledger.Unknown:
		return "For some messages it cannot be proved whether they were sent. A person must look and settle them; do not request them again."
	case ledger.Denied:
		return "A person denied it: do not request the same again."
	case ledger.Done:
		return "All of it was sent. Whether the jobs succeed shows in the queue: list it again later."
	}
	return "It is over. Messages that were not sent are still dead letters."
}

// itemOutcomes names the messages that need a look; detailed names all, up to
// the bound.
func (c *call) itemOutcomes(ctx context.Context, row ledger.Plan, detailed bool) (out []ItemOutcome, err error) {
	states := []backends.State{backends.Intended, backends.Sent, backends.Skipped, backends.Failed, backends.Doubtful}
	if detailed {
		states = nil
	}
	for it, err := range c.st.ledger.Items(ctx, row.ID, states...) {
		if err != nil {
			return nil, err
		}
		if len(out) == maxItemsShown {
			break
		}
		o := ItemOutcome{ID: showID(it.Ref.ID), Outcome: outcomeWord(it.State), NewID: it.NewID}
		if it.State == backends.Claimed && !row.State.Open() {
			o.Outcome = "not sent"
		}
		if it.Code != "" {
			o.Why = it.Code.Sentence()
		}
		if o.NewID != "" {
			o.NewID = showID(o.NewID)
		}
		out = append(out, o)
	}
	return out, nil
}

// evidence looks whether messages that were sent are dead again. It is a help,
// not a proof, so a store that does not answer changes nothing.
func (c *call) evidence(ctx context.Context, row ledger.Plan, res *RequestResult) {
	if res.Sent == 0 || c.pol.Queues[row.Queue] == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	marks := map[string]string{}
	var ids []string
	for it, err := range c.st.ledger.Items(ctx, row.ID, backends.Done) {
		if err != nil || len(ids) == MaxIDs {
			break
		}
		id := it.Ref.ID
		if it.NewID != "" {
			id = it.NewID
		}
		marks[id] = it.Ref.Mark
		ids = append(ids, id)
	}
	t, err := c.open(ctx, row.Queue)
	if err != nil || len(ids) == 0 {
		return
	}
	for d, err := range t.store.Scan(ctx, backends.Query{Queue: row.Queue, IDs: ids}) {
		if err != nil {
			return
		}
		if d.Mark != marks[d.ID] {
			res.Returned++
		}
	}
	if res.Returned > 0 {
		res.Next = fmt.Sprintf("%d of the messages that were sent are dead again. Inspect one before you request more.", res.Returned)
	}
}

func (s *session) cancel(ctx context.Context, args CancelArgs) (*StatusResult, error) {
	err := checkName("request_id", args.RequestID)
	if err == nil {
		err = checkText("reason", args.Reason, false)
	}
	if err != nil {
		return nil, s.refusedArgs(ctx, "cancel_redrive", "", err)
	}
	c, err := s.begin(ctx, "cancel_redrive", "", audit.Arg{Key: "request", Value: args.RequestID}, audit.Arg{Key: "reason", Value: words(args.Reason)})
	if err != nil {
		return nil, err
	}
	res, err := c.cancel(ctx, args)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

// owns reports whether a plan is the caller's own. Sessions of one principal
// share what they asked for: a session ends with every restart of a client.
func (c *call) owns(p ledger.Plan) bool {
	return p.Kind == c.caller.Kind && p.Principal == c.caller.Principal
}

func (c *call) cancel(ctx context.Context, args CancelArgs) (*StatusResult, error) {
	row, err := c.find(ctx, args.RequestID)
	if err != nil {
		return nil, err
	}
	if c.caller.Kind == KindAgent && !c.owns(row) {
		return nil, refuse(CodePolicy, "Request %s is not yours; only its requester or a person may cancel it.", row.ID)
	}
	why := "cancelled by " + c.caller.Name()
	if args.Reason != "" {
		why += ": " + quote(c.clean(args.Reason))
	}
	why = oneLine(why, 200)
	var to ledger.State
	err = c.withRoom(func() (err error) {
		to, err = c.st.ledger.Cancel(ctx, row.ID, why)
		return err
	})
	if isMove(err) {
		return nil, refuse(CodeNothing, "Request %s is %s; there is nothing to cancel.", row.ID, row.State)
	}
	if err != nil {
		return nil, err
	}
	rec := c.record(audit.PhaseCancel)
	rec.Plan, rec.Queue, rec.Why = row.Digest, row.Queue, why
	if to == ledger.Cancelled {
		err = c.tell(ctx, row.ID, to, rec)
	} else {
		_, err = c.st.log.Append(ctx, rec) // its run will tell how it ends
	}
	if err != nil {
		return nil, lateRefusal(fmt.Sprintf("Request %s is %s", row.ID, to), err)
	}
	return c.get(ctx, row.ID, false)
}
