package sqs

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// search finds messages of a plan in the dead-letter queue. SQS cannot be asked
// for a message by its id, so messages are received until the wanted ones came.
// What is not wanted stays in the hand, so that it does not come again, until the
// search ends. Nothing that is wanted is held between two calls of find.
type search struct {
	s     *Store
	r     *route
	hand  *hand
	want  map[string]backends.Item // still to be found, by message id
	taken []string                 // unwanted ones, which we received: the next attempt count is less ours

	left int // messages that SQS says can be received, less those that came
}

func (s *Store) search(r *route, items []backends.Item) *search {
	f := &search{s: s, r: r, hand: s.hand(r.dlq), want: make(map[string]backends.Item, len(items)), left: r.dlq.visible}
	for _, it := range items {
		f.want[it.Ref.ID] = it
	}
	return f
}

// found is a wanted message in the hand.
type found struct {
	item   backends.Item
	parcel *parcel
	until  time.Time // nothing is done with it any more after this
}

// searchTime bounds how long one call of find looks on without finding anything.
const searchTime = 2 * time.Minute

// find takes up to n wanted messages. Fewer come where the queue has, or shows, no
// more of them now.
func (f *search) find(ctx context.Context, n int) (out []found, err error) {
	visibility := f.r.src.Look.visibility()
	idle, pending := 0, 0 // calls that brought nothing new; messages that calls under way may bring
	end := time.Now().Add(searchTime)
	ask := func() int {
		if time.Now().After(end) {
			return 0
		}
		k := f.portion(n-len(out), pending)
		pending += k
		return k
	}
	err = f.s.draw(ctx, f.r.dlq, visibility, ask, func(asked int, msgs []types.Message) (bool, error) {
		pending -= asked
		fresh := false
		var surplus []string
		for i := range msgs {
			m := &msgs[i]
			fresh = f.hand.take(m) || fresh
			it, wanted := f.want[id(m)]
			switch {
			case !wanted:
				f.taken = append(f.taken, id(m))
			case len(out) < n:
				delete(f.want, id(m))
				out = append(out, f.found(it, m, visibility))
				fresh, end = true, time.Now().Add(searchTime)
			default:
				surplus = append(surplus, id(m))
			}
		}
		f.left = max(0, f.left-len(msgs))
		if idle++; fresh {
			idle = 0
		}
		var err error
		if len(surplus) > 0 {
			err = f.hand.giveBack(ctx, surplus...)
		}
		return len(out) < n && len(f.want) > 0 && !f.over(idle), err
	})
	return out, err
}

// over ends a search in vain: what SQS counts came, and a call after it brought
// nothing new, or many calls in a row did not, or no more may be held.
func (f *search) over(idle int) bool {
	return idle > lanes || f.left == 0 && idle > 0 || f.hand.size() >= f.r.src.Look.most()
}

// whole reports whether all that there is was seen.
func (f *search) whole() bool {
	return f.left == 0 && f.r.dlq.held == 0 && f.r.dlq.late == 0 && f.hand.size() < f.r.src.Look.most()
}

// portion is how many messages the next call asks for, so that as many wanted ones
// come as may be sent: no more than those where all are wanted, ten where few are.
// pending ones are on their way.
func (f *search) portion(need, pending int) int {
	if wanted := len(f.want); wanted > 0 && f.left > wanted {
		need = need * f.left / wanted
	}
	return min(most, max(0, need-pending))
}

func (f *search) found(it backends.Item, m *types.Message, visibility time.Duration) found {
	p := f.r.open(id(m), factsOf(m), []byte(aws.ToString(m.Body)))
	return found{item: it, parcel: p, until: time.Now().Add(visibility - margin)}
}

// end gives back what is left in the hand, and notes that it was received.
func (f *search) end(ctx context.Context, snaps backends.Snapshots) error {
	ctx = context.WithoutCancel(ctx)
	err := f.hand.giveBack(ctx)
	if len(f.taken) > 0 {
		if e := snaps.Received(ctx, f.r.place, f.taken...); err == nil {
			err = e
		}
	}
	return err
}
