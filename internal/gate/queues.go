package gate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

func (s *session) queues(ctx context.Context, args QueuesArgs) (*QueuesResult, error) {
	detailed, err := format(args.ResponseFormat)
	if err != nil {
		return nil, s.refusedArgs(ctx, "list_queues", "", err)
	}
	c, err := s.begin(ctx, "list_queues", "")
	if err != nil {
		return nil, err
	}
	res, err := c.queues(ctx, detailed)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *call) queues(ctx context.Context, detailed bool) (*QueuesResult, error) {
	open, err := c.st.ledger.Find(ctx, ledger.Pending, ledger.Approved, ledger.Running, ledger.Stopping, ledger.Unknown)
	if err != nil {
		return nil, err
	}
	now, clockErr := c.st.ledger.Now()
	res := &QueuesResult{AsOf: stamp(now), Queues: make([]QueueInfo, len(c.pol.Queues))}
	if why := c.st.stopped(); why != "" {
		res.Stopped = why
	} else if clockErr != nil {
		res.Stopped = clockErr.Error()
	}
	var wg sync.WaitGroup
	for i, name := range queueNames(c.pol) {
		wg.Go(func() { res.Queues[i] = c.queueInfo(ctx, c.pol.Queues[name], open, now, detailed) })
	}
	wg.Wait()
	res.Next = "Call group_dead_letters on a queue with letters to see what failed and why."
	if slices.ContainsFunc(res.Queues, func(q QueueInfo) bool { return q.Error != "" }) {
		res.Next += " A queue with an `error` has a store that does not answer: nothing is known about its letters."
	}
	return res, nil
}

// queueInfo never fails: a store that does not answer is part of the picture.
func (c *call) queueInfo(ctx context.Context, q *policy.Queue, open []ledger.Plan, now time.Time, detailed bool) QueueInfo {
	info := QueueInfo{Queue: q.Name, Store: q.Backend.Kind, Redrive: string(q.Effect), Most: q.Approval.MaxMessages}
	if q.Limits != (policy.Limits{}) {
		info.Limits = q.Limits.String()
	}
	if len(q.Rules) > 0 {
		info.Redrive = "depends"
	}
	for _, p := range q.Patch.Allow {
		info.Patch = append(info.Patch, p.String())
	}
	if detailed {
		for _, r := range q.Rules {
			info.Rules = append(info.Rules, r.String())
		}
	}
	c.openPlans(ctx, &info, open, now)
	t, err := c.open(ctx, q.Name)
	if err != nil {
		info.Error = err.Error()
		return info
	}
	d, err := t.store.Depth(ctx, q.Name)
	if err != nil {
		info.Error = storeRefusal(q.Name, err).Error()
		return info
	}
	info.fill(d)
	if detailed || c.caller.Kind == KindPerson {
		info.Warnings = t.store.Can(q.Name).Warnings
	}
	return info
}

func (info *QueueInfo) fill(d backends.Depth) {
	info.Letters, info.AtLeast = &d.Letters, d.Capped
	info.Oldest, info.Newest, info.Expires = stamp(d.Oldest), stamp(d.Newest), stamp(d.Expires)
}

func (c *call) openPlans(ctx context.Context, info *QueueInfo, open []ledger.Plan, now time.Time) {
	var first time.Time
	for _, p := range open {
		if p.Queue != info.Queue {
			continue
		}
		if p.State == ledger.Unknown {
			if n, err := c.st.ledger.Count(ctx, p.ID); err == nil {
				info.Unknown += n.Unknown
			}
			continue
		}
		info.Open++
		if p.State == ledger.Pending {
			info.Pending++
			if first.IsZero() || p.Expires.Before(first) {
				first = p.Expires
			}
		}
	}
	if !first.IsZero() {
		info.TimeLeft = max(0, first.Sub(now).Truncate(time.Second)).String()
	}
	if last, err := c.st.ledger.LastEnded(ctx, info.Queue); err == nil && last.ID != "" {
		info.Last = fmt.Sprintf("%s %s at %s", last.ID, last.State, stamp(last.Ended))
	}
}

func format(f string) (detailed bool, err error) {
	switch f {
	case "", Concise:
		return false, nil
	case Detailed:
		return true, nil
	}
	return false, refuse(CodeBadArgument, "`response_format` must be concise or detailed, got %s.", quote(f))
}

// refusedArgs records a call whose arguments are wrong.
func (s *session) refusedArgs(ctx context.Context, tool, queue string, err error) error {
	log, lerr := s.g.logOnly()
	if lerr != nil {
		return lerr
	}
	c := &call{s: s, op: ledger.NewID("o"), tool: tool, queue: queue, caller: s.who()}
	rec := c.record(audit.PhaseCall)
	c.fillRefusal(&rec, err)
	if aerr := log.Refused(ctx, rec); aerr != nil {
		return auditRefusal(aerr)
	}
	return err
}
