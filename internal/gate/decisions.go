package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/approval"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// approved weighs the decisions, each of which must stand in the log as it
// stands in the ledger.
func (w *warrant) approved(ctx context.Context, now time.Time) error {
	ds, err := w.c.decisions(ctx, w.row)
	if err != nil {
		return err
	}
	v := approval.Judge(w.need, w.asked(), ds, now)
	if !v.Approved {
		return voidError{"it has " + v.Missing}
	}
	return nil
}

// decisions are those of the ledger that the log has too.
func (c *call) decisions(ctx context.Context, row ledger.Plan) ([]approval.Decision, error) {
	rows, err := c.st.ledger.Decisions(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	return c.vouched(ctx, rows)
}

// vouched compares decisions with the log. One that the log lacks was written by
// somebody else, and halts.
func (c *call) vouched(ctx context.Context, rows []ledger.Decision) ([]approval.Decision, error) {
	var out []approval.Decision
	for _, d := range rows {
		rec, ok, err := c.st.log.Find(d.Seq, d.Hash)
		if err != nil {
			return nil, err
		}
		if !ok || !decides(rec, d) {
			return nil, voidError{fmt.Sprintf("the decision of %s is not in the audit log", d.Person)}
		}
		out = append(out, approval.Decision{Person: d.Person, Yes: d.Yes, Digest: d.Digest, Proof: d.Proof, At: d.At, Reason: d.Reason})
	}
	return out, nil
}

// decides reports whether a record is of this decision.
func decides(rec audit.Record, d ledger.Decision) bool {
	return rec.Phase == audit.PhaseApproval && rec.Plan == d.Digest && argOf(rec, "person") == d.Person && rec.Outcome == decisionWord(d.Yes) &&
		rec.Proof == d.Proof
}
