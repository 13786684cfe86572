package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

// agree compares ledger and log when they are opened, so that neither can be put
// back to an older copy unnoticed. The ledger notes the log's newest record that
// it knows of; a log without that record closes the gate. Everything goes to the
// ledger first and then to the log, so what the log tells beyond that record the
// ledger must have: if it lacks any of it, it is an older copy, and knows nothing
// of the denials, limits and redrives since. That closes the gate too.
//
// A process that dies between ledger and log leaves a ledger that is ahead, which
// is no reason to close: see untold. Two copies of one moment, put back
// together, agree; only what is kept elsewhere can show that.
func (st *state) agree(ctx context.Context) error {
	known, err := st.ledger.Head(ctx)
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
				hint("record %d with hash %s is missing: the log was cut or replaced; put the right one back, or, if it is lost, %s", known.Seq, known.Hash, anew)
		}
	}
	last := known
	for rec, err := range audit.Read(ctx, st.folder, audit.Query{From: known.Seq}) {
		if err != nil {
			return fmt.Errorf("reading the log from record %d: %w", known.Seq, err)
		}
		if rec.Seq == known.Seq && known.Hash != "" {
			continue
		}
		if err := st.has(ctx, rec); err != nil {
			return err
		}
		last = ledger.Head{Log: rec.Log, Seq: rec.Seq, Hash: rec.Hash}
	}
	// This only spares the next process what was read here, so that a full disk
	// is no reason to fail.
	_ = st.ledger.SetHead(ctx, last)
	return nil
}

// anew is the way out where a part of the state is lost for good.
const anew = "stop every redrive-mcp, move the whole state folder aside and begin with an empty one: what was denied or sent before is then known to nobody, so look into the old log first (docs/design.md, \"When ledger and log disagree\")"

// has closes the gate where the ledger lacks what a record of the log tells.
func (st *state) has(ctx context.Context, rec audit.Record) error {
	lacks, err := st.lacks(ctx, rec)
	if err != nil || lacks == "" {
		return err
	}
	return refuse(CodeClosed, "The audit log has redrives or decisions that the ledger does not know, so nothing is done. Ask a person to put the newest ledger back.").
		hint("record %d of the log tells of %s, which ledger.db lacks: it is older than the log, or was made anew; put the right one back, or, if it is lost, %s", rec.Seq, lacks, anew)
}

// lacks says what of a record the ledger does not have, "" if it has all.
func (st *state) lacks(ctx context.Context, rec audit.Record) (string, error) {
	switch rec.Phase {
	case audit.PhasePlan, audit.PhaseApproval, audit.PhaseRun, audit.PhaseIntent, audit.PhaseOutcome, audit.PhaseResolve, audit.PhaseCancel:
	default:
		return "", nil // tells nothing of a plan
	}
	row, err := st.ledger.ByDigest(ctx, rec.Plan)
	if errors.Is(err, ledger.ErrNoPlan) {
		return "a request", nil
	}
	if err != nil {
		return "", err
	}
	what := rec.Phase + " of request " + row.ID
	has := true
	switch rec.Phase {
	case audit.PhaseApproval:
		what = "a decision about request " + row.ID
		has, err = st.ledger.HasDecision(ctx, row.ID, argOf(rec, "person"))
	case audit.PhaseRun:
		has = row.Fence >= fenceOf(rec)
	case audit.PhaseIntent:
		has, err = st.ledger.HasTicket(ctx, argOf(rec, "ticket"))
	case audit.PhaseCancel:
		has = !slices.Contains([]ledger.State{ledger.Pending, ledger.Approved, ledger.Running}, row.State)
	case audit.PhaseOutcome, audit.PhaseResolve:
		has, err = st.hasOutcomes(ctx, row, rec)
	}
	if err != nil || has {
		return "", err
	}
	return what, nil
}

// fenceOf is the fence of a run. Records of earlier versions lack it.
func fenceOf(rec audit.Record) int64 {
	n, err := strconv.ParseInt(argOf(rec, "fence"), 10, 64)
	if err != nil {
		return 1
	}
	return n
}

// hasOutcomes compares outcomes of items, or the end of a plan, with the ledger,
// in which they may have gone on since.
func (st *state) hasOutcomes(ctx context.Context, row ledger.Plan, rec audit.Record) (bool, error) {
	if len(rec.Items) == 0 {
		end := ledger.State(rec.Outcome)
		return !end.Known() || ledger.Follows(end, row.State), nil
	}
	ns := make([]int, len(rec.Items))
	for i, it := range rec.Items {
		ns[i] = it.N
	}
	now, err := st.ledger.States(ctx, row.ID, ns)
	for _, it := range rec.Items {
		if !ledger.ItemFollows(backends.State(it.State), now[it.N]) {
			return false, err
		}
	}
	return true, err
}

func argOf(rec audit.Record, key string) string {
	for _, a := range rec.Args {
		if a.Key == key {
			return strings.TrimSpace(fmt.Sprint(a.Value))
		}
	}
	return ""
}
