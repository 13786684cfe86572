package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
)

func (s *session) pending(ctx context.Context) (*StatusResult, error) {
	return s.get(ctx, GetArgs{})
}

// run executes one request for a person.
func (s *session) run(ctx context.Context, id string, progress func(RequestResult)) (*RequestResult, error) {
	c, err := s.begin(ctx, "run", "", audit.Arg{Key: "request", Value: words(id)})
	if err != nil {
		return nil, err
	}
	res, err := c.run(ctx, id, progress)
	err = c.done(ctx, err)
	return res, err
}

func (c *call) run(ctx context.Context, id string, progress func(RequestResult)) (*RequestResult, error) {
	row, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case row.State == ledger.Approved && row.Mode == modeDirect:
		return nil, c.takeBack(ctx, row, refuse(CodeState, "Request %s was direct and its session has ended, so it is cancelled. Request it again.", row.ID))
	case row.State != ledger.Approved && row.State != ledger.Running && row.State != ledger.Stopping:
		return nil, refuse(CodeNothing, "Request %s is %s; there is nothing to run.", row.ID, row.State)
	}
	if err := c.tellRequest(ctx, row); err != nil {
		return nil, err
	}
	live := context.WithoutCancel(ctx)
	report := func() {
		if progress == nil {
			return
		}
		if res, err := c.result(live, row, false); err == nil {
			progress(res)
		}
	}
	_, runErr := c.execute(ctx, row, report)
	if row, err = c.st.ledger.Get(live, row.ID); err != nil {
		return nil, errors.Join(runErr, err)
	}
	res, err := c.result(live, row, false)
	return &res, errors.Join(runErr, err)
}

// runOpen runs what is approved, and what an executor left behind.
func (s *session) runOpen(ctx context.Context, report func(RequestResult, error)) error {
	st, err := s.g.state(ctx, false)
	if err != nil {
		return err
	}
	c := &call{s: s, op: ledger.NewID("o"), tool: "run", caller: s.who(), st: st}
	if c.pol, err = s.g.policyNow(ctx); err != nil {
		return err
	}
	if err := c.tidy(ctx); err != nil {
		return err
	}
	rows, err := st.ledger.Find(ctx, ledger.Approved, ledger.Running, ledger.Stopping)
	if err != nil {
		return err
	}
	now, _ := st.ledger.Now()
	for _, row := range rows {
		if ctx.Err() != nil {
			return nil
		}
		if row.State == ledger.Approved && row.Mode == modeDirect {
			continue // the session that asked for it is about to run it
		}
		if row.State != ledger.Approved && now.Before(row.Lease) && st.ledger.Held(ctx, row.ID) {
			continue // somebody is at it
		}
		res, err := s.run(ctx, row.ID, nil)
		if r, ok := errors.AsType[*Refusal](err); ok && r.Code == CodeInterrupted {
			return nil // as it was asked to
		}
		if res == nil {
			res = &RequestResult{RequestID: row.ID, Queue: row.Queue, Status: status(row.State)}
		}
		report(*res, err)
	}
	return nil
}

func (s *session) watch(ctx context.Context, every time.Duration, report func(RequestResult, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := s.runOpen(ctx, report); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// settle ends items that nobody can prove, by the word of a person who looked.
func (s *session) settle(ctx context.Context, id string, ids []string, sent bool, reason string) (*RequestResult, error) {
	if err := checkText("reason", reason, true); err != nil {
		return nil, s.refusedArgs(ctx, "resolve", "", err)
	}
	c, err := s.begin(ctx, "resolve", "", audit.Arg{Key: "request", Value: words(id)}, audit.Arg{Key: "ids", Value: ids},
		audit.Arg{Key: "sent", Value: sent}, audit.Arg{Key: "reason", Value: words(reason)})
	if err != nil {
		return nil, err
	}
	res, err := c.settle(ctx, id, ids, sent, reason)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *call) settle(ctx context.Context, id string, ids []string, sent bool, reason string) (*RequestResult, error) {
	row, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for _, s := range ids {
		raw, err := checkID("ids", s)
		if err != nil {
			return nil, err
		}
		want[raw] = true
	}
	state := backends.Skipped
	if sent {
		state = backends.Done
	}
	var outs []backends.Outcome
	rec := c.record(audit.PhaseResolve)
	for it, err := range c.st.ledger.Items(ctx, row.ID, backends.Doubtful) {
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 || want[it.Ref.ID] {
			outs = append(outs, backends.Outcome{N: it.N, State: state, NewID: it.NewID})
			rec.Items = append(rec.Items, audit.Item{N: it.N, ID: showID(it.Ref.ID), State: string(state)})
			delete(want, it.Ref.ID)
		}
	}
	if len(outs) == 0 || len(want) > 0 {
		return nil, refuse(CodeNothing, "Request %s has no unknown messages like that.", row.ID)
	}
	rec.Plan, rec.Queue, rec.Why = row.Digest, row.Queue, c.clean(reason)
	rec.Args = append(rec.Args, audit.Arg{Key: "sent", Value: sent})
	err = c.st.ledger.Settle(ctx, row.ID, outs)
	if isMove(err) {
		return nil, refuse(CodeState, "Somebody else has settled messages of request %s meanwhile. Look at it again.", row.ID).because(err)
	}
	if err != nil {
		return nil, err
	}
	if row, err = c.settled(ctx, row.ID, outs, rec); err != nil {
		return nil, err
	}
	res, err := c.result(ctx, row, false)
	return &res, err
}

// settled writes a person's word to the log, and the end of the plan if that was
// the last. What cannot be written now is untold.
func (c *call) settled(ctx context.Context, id string, outs []backends.Outcome, rec audit.Record) (ledger.Plan, error) {
	row, err := c.st.ledger.Get(ctx, id)
	if err != nil {
		return row, err
	}
	recs := []audit.Record{rec}
	if row.State != row.Logged && !row.State.Open() {
		recs = append(recs, c.endOf(row, c.record("")))
	}
	head, err := c.st.log.Append(ctx, recs...)
	if err != nil {
		return row, lateRefusal(fmt.Sprintf("What you said about request %s counts", id), err)
	}
	err = c.st.ledger.Audited(ctx, id, outs, headOf(head))
	if err == nil && len(recs) > 1 {
		err = c.st.ledger.Told(ctx, id, row.State, headOf(head))
	}
	return row, err
}

// goFile must exist for anything to be sent. Stopping removes it, which a full
// disk does not prevent; whoever deletes it by accident stops redrives, which
// harms nobody.
const (
	goFile  = "go"
	whyFile = "stopped"
)

// stopped is why nothing may be sent, "" if it may.
func (st *state) stopped() string {
	if _, err := st.folder.Read(goFile, 1<<10); err == nil {
		return ""
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "the state folder does not say that redrives may run"
	}
	why, err := st.folder.Read(whyFile, 4<<10)
	if err != nil || len(why) == 0 {
		return "the state folder does not say that they may run (resume does)"
	}
	return oneLine(string(why), 200)
}

func (s *session) stop(ctx context.Context, reason string) error {
	st, err := s.g.state(ctx, true)
	if err != nil {
		return errors.Join(s.g.halt(), err) // first of all nothing more is sent
	}
	already := st.stopped() != ""
	if err := st.folder.Remove(goFile); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	// From here on everything is stopped; the rest says so and may fail.
	c := &call{s: s, op: ledger.NewID("o"), tool: "stop", caller: s.who(), st: st, urgent: true}
	reason = c.clean(reason)
	why := strings.TrimSpace(reason + " (" + c.caller.Name() + ")")
	var errWhy error
	if !already { // who stopped first, and why, stays what everybody is told
		errWhy = st.folder.Overwrite(whyFile, []byte(why))
	}
	rec := c.record(audit.PhaseStop)
	rec.Why = reason
	_, errLog := st.log.Append(ctx, rec)
	if err := errors.Join(errWhy, errLog); err != nil {
		return refuse(CodeAudit, "Everything is stopped, but that could not be written down yet.").because(err).
			hint("run stop again when this is mended: %v", err)
	}
	return nil
}

// halt stops everything where ledger and log cannot be opened.
func (g *Gate) halt() error {
	folder, err := durable.Open(g.pol.State)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Remove(goFile)
}

func (s *session) resume(ctx context.Context, reason string) error {
	c, err := s.begin(ctx, "resume", "", audit.Arg{Key: "reason", Value: words(reason)})
	if err != nil {
		return err
	}
	if c.st.stopped() == "" {
		return c.done(ctx, refuse(CodeNothing, "Nothing is stopped."))
	}
	err = c.st.folder.WriteNew(goFile, nil)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		err = c.st.folder.Remove(whyFile)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return c.done(ctx, err)
}
