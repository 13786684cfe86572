package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
)

// agree compares ledger and log when they are opened. The ledger notes the log's
// record of each transition, so that neither can be put back to an older copy
// unnoticed: a log without that record closes the gate; what the log has beyond
// it counts as having happened.
func (st *state) agree(ctx context.Context) error {
	known, err := st.ledger.Head(ctx)
	if err != nil {
		return err
	}
	now, err := st.log.HeadNow()
	if err != nil {
		return err
	}
	if known.Hash != "" {
		ok, err := st.log.Contains(known.Seq, known.Hash)
		if err != nil {
			return err
		}
		if !ok {
			return refuse(CodeClosed, "The audit log lacks a record that the ledger knows of, so nothing is done. Ask a person to run `redrive-mcp audit verify`.").
				hint("record %d with hash %s is missing: the log was cut or replaced; put the right one back", known.Seq, known.Hash)
		}
	}
	if now.Hash == "" || now.Hash == known.Hash {
		return nil
	}
	return st.catchUp(ctx, known)
}

// catchUp takes intents that the log has and the ledger lacks into the ledger.
func (st *state) catchUp(ctx context.Context, known ledger.Head) error {
	from := known.Seq
	for rec, err := range audit.Read(ctx, st.folder, audit.Query{From: from}) {
		if err != nil {
			return fmt.Errorf("reading the log from record %d: %w", from, err)
		}
		if rec.Seq == known.Seq && known.Hash != "" {
			continue
		}
		if rec.Phase == audit.PhasePlan {
			if err := st.knows(ctx, rec); err != nil {
				return err
			}
		}
		if rec.Phase != audit.PhaseIntent {
			continue
		}
		if err := st.consume(ctx, rec); err != nil {
			return err
		}
	}
	head, err := st.log.HeadNow()
	if err != nil {
		return err
	}
	// This only spares the next process what was read here, so that a full disk
	// is no reason to fail.
	_ = st.ledger.SetHead(ctx, ledger.Head{Log: head.Log, Seq: head.Seq, Hash: head.Hash})
	return nil
}

// knows closes the gate where the log has a plan that the ledger lacks. A plan is
// in the ledger before it is in the log, also while another process places it, so
// the ledger is an older copy or was made anew: claims, limits and denials of what
// came since are not in it.
func (st *state) knows(ctx context.Context, rec audit.Record) error {
	_, err := st.ledger.Get(ctx, rec.Outcome)
	if errors.Is(err, ledger.ErrNoPlan) {
		return refuse(CodeClosed, "The audit log has redrives that the ledger does not know, so nothing is done. Ask a person to put the newest ledger back.").
			hint("the log's record %d is about request %s, which the ledger does not know; restore ledger.db, or if it is lost move the folder `audit` away to begin a new log", rec.Seq, rec.Outcome)
	}
	return err
}

func (st *state) consume(ctx context.Context, rec audit.Record) error {
	ns := make([]int, len(rec.Items))
	for i, it := range rec.Items {
		ns[i] = it.N
	}
	ticket := argOf(rec, "ticket")
	data, err := st.log.GetObject(rec.Plan)
	if err != nil {
		return fmt.Errorf("reading the plan of record %d: %w", rec.Seq, err)
	}
	p, err := plan.Decode(data)
	if err != nil {
		return err
	}
	return st.ledger.Consume(ctx, p.ID, rec.Run, ticket, p.Physical, ns, rec.TS)
}

func argOf(rec audit.Record, key string) string {
	for _, a := range rec.Args {
		if a.Key == key {
			return strings.TrimSpace(fmt.Sprint(a.Value))
		}
	}
	return ""
}
