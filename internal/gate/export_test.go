package gate

import "context"

// ListQueuesUnaudited is ListQueues without its two records, for a benchmark to
// hold ListQueues against.
func (a *Agent) ListQueuesUnaudited(ctx context.Context) (*QueuesResult, error) {
	st, err := a.s.g.state(ctx, false)
	if err != nil {
		return nil, err
	}
	c := &call{s: a.s, tool: "list_queues", caller: a.s.who(), st: st, began: a.s.g.o.Clock()}
	if c.pol, err = a.s.g.policyNow(ctx); err != nil {
		return nil, err
	}
	return c.queues(ctx, false)
}
