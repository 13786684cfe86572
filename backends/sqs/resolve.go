package sqs

import (
	"context"
	"errors"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Resolve ends what an executor left. What was intended cannot be proved either
// way: the dead copy stays, and with it the doubt, for a person to settle. Of what
// was sent the dead copy is deleted; it never sends.
func (s *Store) Resolve(ctx context.Context, queue string, doubts []backends.Doubt, j backends.Journal) (err error) {
	var unknown []backends.Outcome
	var items []backends.Item
	sent := map[string]backends.Outcome{}
	for _, d := range doubts {
		if d.State == backends.Sent {
			items = append(items, d.Item)
			sent[d.Ref.ID] = backends.Outcome{N: d.N, State: backends.Sent, NewID: d.NewID}
			continue
		}
		unknown = append(unknown, backends.Outcome{N: d.N, State: backends.Doubtful, Code: backends.NoAnswer})
	}
	if len(unknown) > 0 {
		if err := j.Record(ctx, unknown...); err != nil {
			return err
		}
	}
	if len(sent) == 0 {
		return nil
	}
	u, err := s.run(ctx, backends.Order{Queue: queue, Items: items}, j)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.search.end(ctx, u.snaps)) }()
	return u.removeAll(ctx, sent)
}
