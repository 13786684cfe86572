package sqs

import (
	"context"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// deliver sends what was intended, makes durable what became of it, and only then
// deletes the dead copies of what was sent.
//
// A crash before an outcome is durable leaves its message in doubt, with its dead
// copy; one after it leaves a message that was sent, whose dead copy Resolve removes.
func (u *run) deliver(ctx context.Context, ticket string, ready []found) error {
	results := make(chan []backends.Outcome, len(ready))
	go func() {
		defer close(results)
		_ = parallel(calls(ready), func(lane []*call) error {
			u.lane(ctx, lane, ticket, results)
			return nil
		})
	}()
	var sent []backends.Outcome
	var failed error // of the journal: what comes after it stays in doubt
	for some := range results {
		some = append(some, waiting(results)...)
		if failed == nil {
			failed = u.j.Record(ctx, some...)
		}
		for _, o := range some {
			if failed == nil && o.State == backends.Sent {
				sent = append(sent, o)
			}
		}
	}
	if failed != nil {
		return failed
	}
	return u.remove(ctx, ready, sent)
}

// remove deletes the dead copies of what was sent. Where that fails no more is
// sent, and Resolve tries again.
func (u *run) remove(ctx context.Context, ready []found, sent []backends.Outcome) error {
	ids := make(map[int]string, len(ready))
	for _, f := range ready {
		ids[f.item.N] = f.item.Ref.ID
	}
	left := make(map[string]backends.Outcome, len(sent))
	for _, o := range sent {
		left[ids[o.N]] = o
	}
	err := u.clear(ctx, left)
	if err == nil || len(left) == 0 {
		return err
	}
	return backends.Errorf(backends.CodeOf(err), err, "%d messages were sent, and their dead copies could not be deleted yet", len(left)).
		WithHint("see that sqs:DeleteMessage is allowed on the dead-letter queue; the next run deletes them and sends nothing twice")
}

// waiting takes what has come meanwhile, so that it is made durable together.
func waiting(results <-chan []backends.Outcome) (out []backends.Outcome) {
	for {
		select {
		case more, ok := <-results:
			if !ok {
				return out
			}
			out = append(out, more...)
		default:
			return out
		}
	}
}

// lane makes calls one after the other. Once a message of a FIFO group was not
// surely sent, no later one of the group is: it would overtake.
func (u *run) lane(ctx context.Context, lane []*call, ticket string, results chan<- []backends.Outcome) {
	broken := map[string]bool{}
	for _, c := range lane {
		var held []backends.Outcome
		kept := c.items[:0:0]
		for _, f := range c.items {
			if c.to.fifo() && broken[f.parcel.group()] {
				held = append(held, backends.Outcome{N: f.item.N, State: backends.Skipped, Code: backends.Busy})
				continue
			}
			kept = append(kept, f)
		}
		if len(held) > 0 {
			results <- held
		}
		if len(kept) == 0 {
			continue
		}
		c.items = kept
		out := u.s.send(ctx, c, ticket)
		for i, o := range out {
			broken[kept[i].parcel.group()] = broken[kept[i].parcel.group()] || o.State != backends.Sent
		}
		results <- out
	}
}
