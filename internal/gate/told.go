package gate

import (
	"context"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
)

// tell writes records of a plan that the ledger already has in this state to the
// log, and notes there that the log has them. What is not noted, on a full disk
// for example, is told once more by untold.
func (c *call) tell(ctx context.Context, id string, s ledger.State, recs ...audit.Record) error {
	head, err := c.st.log.Append(ctx, recs...)
	if err != nil {
		return err
	}
	_ = c.st.ledger.Told(ctx, id, s, headOf(head))
	return nil
}

func headOf(h audit.Head) ledger.Head { return ledger.Head{Log: h.Log, Seq: h.Seq, Hash: h.Hash} }

// untold writes what the ledger has and the log lacks: some process died between
// the two. Plans that run tell for themselves, and so does whoever is still
// alive, so only what is older than a moment is told.
func (c *call) untold(ctx context.Context) error {
	now, _ := c.st.ledger.Now()
	rows, err := c.st.ledger.Untold(ctx, now.Add(-startTime))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := c.tellAll(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// tellAll writes what the log lacks of one plan: the request, outcomes, its end.
func (c *call) tellAll(ctx context.Context, row ledger.Plan) error {
	if err := c.tellRequest(ctx, row); err != nil {
		return err
	}
	rec := c.recovered(row, audit.PhaseOutcome)
	outs, err := c.st.ledger.Unaudited(ctx, row.ID)
	if err != nil {
		return err
	}
	if len(outs) > 0 {
		for _, o := range outs {
			rec.Items = append(rec.Items, audit.Item{N: o.N, State: string(o.State), Code: string(o.Code), NewID: o.NewID})
		}
		head, err := c.st.log.Append(ctx, rec)
		if err != nil {
			return auditRefusal(err)
		}
		if err := c.st.ledger.Audited(ctx, row.ID, outs, headOf(head)); err != nil {
			return err
		}
	}
	if row.State.Open() || row.State == row.Logged {
		return nil
	}
	if err := c.tell(ctx, row.ID, row.State, c.endOf(row, c.recovered(row, ""))); err != nil {
		return auditRefusal(err)
	}
	return nil
}

func (c *call) recovered(row ledger.Plan, phase string) audit.Record {
	rec := c.record(phase)
	rec.Plan, rec.Queue = row.Digest, row.Queue
	rec.Args = append(rec.Args, audit.Arg{Key: "recovered", Value: true})
	return rec
}

// endOf makes a record one of a plan's end.
func (c *call) endOf(row ledger.Plan, rec audit.Record) audit.Record {
	rec.Plan, rec.Queue, rec.Why = row.Digest, row.Queue, row.Why
	rec.Phase = audit.PhaseCancel
	if row.State != ledger.Cancelled {
		rec.Phase, rec.Outcome = audit.PhaseOutcome, string(row.State)
	}
	return rec
}

// tellRequest writes the record of a request whose process died before it could.
// Nobody decides about it or runs it before that.
func (c *call) tellRequest(ctx context.Context, row ledger.Plan) error {
	if row.Logged != "" {
		return nil
	}
	doc, err := plan.Decode(row.Bytes)
	if err != nil {
		return err
	}
	rec := c.recovered(row, "")
	who := doc.Requester
	rec.Actor, rec.Client, rec.Session, rec.Tool = who.Name(), who.Client, who.Session, "request_redrive"
	if err := c.tell(ctx, row.ID, requestState(row), planRecord(rec, row, doc)); err != nil {
		return auditRefusal(err)
	}
	return nil
}

// requestState is the state that a request is made in.
func requestState(row ledger.Plan) ledger.State {
	if row.Mode == modeDirect {
		return ledger.Approved
	}
	return ledger.Pending
}

// planRecord makes a record one of a request, with its letters.
func planRecord(rec audit.Record, row ledger.Plan, doc *plan.Plan) audit.Record {
	rec.Phase, rec.Plan, rec.Queue = audit.PhasePlan, row.Digest, row.Queue
	rec.Rule, rec.Effect, rec.Outcome = doc.Rule, doc.Mode, row.ID
	for _, it := range doc.Items {
		rec.Items = append(rec.Items, audit.Item{N: it.N, ID: it.ID, Commit: it.Before})
	}
	return rec
}
