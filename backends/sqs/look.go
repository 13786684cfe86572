package sqs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// look is one look that this process makes.
type look struct {
	done chan struct{}
	err  error // once done is closed
}

// Look makes a look where none was made yet, or anew. See backends.Looker.
func (s *Store) Look(ctx context.Context, queue string, anew bool) (backends.Look, error) {
	q, src, err := s.dlq(ctx, queue)
	if err != nil {
		return backends.Look{}, err
	}
	snaps, err := s.snapshots(ctx)
	if err != nil {
		return backends.Look{}, err
	}
	place := s.target(q).Letters()
	if !anew {
		if known, err := snaps.Look(ctx, place); err != nil || !known.AsOf.IsZero() {
			return known, err
		}
	}
	l, err := s.begin(ctx, queue, &eye{s: s, q: q, src: src, snaps: snaps, place: place})
	if errors.Is(err, backends.ErrLooking) {
		return snaps.Look(ctx, place)
	} else if err != nil {
		return backends.Look{}, err
	}
	select {
	case <-l.done:
		if l.err != nil {
			return backends.Look{}, l.err
		}
	case <-ctx.Done():
	}
	return snaps.Look(context.WithoutCancel(ctx), place)
}

// begin starts a look beside the calls, or joins the one that is under way.
func (s *Store) begin(ctx context.Context, queue string, e *eye) (*look, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.looking[queue]; l != nil {
		return l, nil
	}
	if s.live.Err() != nil {
		return nil, s.live.Err()
	}
	pass, err := e.snaps.Begin(ctx, e.place)
	if err != nil {
		return nil, err
	}
	e.pass, e.hand = pass, s.hand(e.q)
	l := &look{done: make(chan struct{})}
	s.looking[queue] = l
	s.looks.Go(func() {
		l.err = e.look(s.live)
		s.mu.Lock()
		delete(s.looking, queue)
		s.mu.Unlock()
		close(l.done)
	})
	return l, nil
}

// eye makes one look.
type eye struct {
	s     *Store
	q     *queue
	src   *Source
	snaps backends.Snapshots
	place string
	pass  backends.Pass
	hand  *hand

	total  int       // by the count of SQS when the look began
	idle   int       // calls in a row that brought nothing new
	first  time.Time // when the first message was taken
	capped bool
	late   bool // what was taken first is about to be visible again
}

// look takes all messages there are, keeps them, and gives them back.
func (e *eye) look(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, e.pass.Close()) }()
	if err := e.s.spares(ctx, e.q, e.snaps, e.place); err != nil {
		return err
	}
	e.total = e.q.visible
	if err := e.pass.Progress(ctx, e.total); err != nil {
		return err
	}
	err = e.s.draw(ctx, e.q, e.src.Look.visibility(), e.ask, func(_ int, msgs []types.Message) (bool, error) { return e.got(ctx, msgs) })
	// Whatever ended it, what was taken goes back first.
	err = errors.Join(err, e.hand.giveBack(ctx))
	if err != nil {
		return err
	}
	return e.pass.End(ctx, !e.capped && !e.late && e.q.held == 0, e.notes()...)
}

// ask takes no more than may be held.
func (e *eye) ask() int {
	if e.late = !e.first.IsZero() && time.Since(e.first) > e.src.Look.visibility()-margin; e.late {
		return 0
	}
	room := e.src.Look.most() - e.hand.size() - lanes*most // what the other lanes may bring
	if room <= 0 {
		e.capped = true
	}
	return min(most, max(room, 0))
}

// margin is how long before its visibility runs out nothing is done with a
// message any more.
const margin = 15 * time.Second

// got keeps what came. Two calls that bring nothing new end the look where all
// that SQS counts was seen, else one on each lane and one more: a poll may come
// back empty though there is something (Amazon SQS short and long polling).
func (e *eye) got(ctx context.Context, msgs []types.Message) (more bool, err error) {
	if e.first.IsZero() && len(msgs) > 0 {
		e.first = time.Now()
	}
	var fresh []backends.Snapshot
	for i := range msgs {
		if e.hand.take(&msgs[i]) {
			snap, err := e.snapshot(&msgs[i])
			if err != nil {
				return false, err
			}
			fresh = append(fresh, snap)
		}
	}
	if len(fresh) == 0 {
		e.idle++
	} else {
		e.idle = 0
		if err := e.pass.Put(context.WithoutCancel(ctx), fresh...); err != nil { // it was received: that is counted
			return false, err
		}
	}
	if e.hand.size() >= e.total {
		return e.idle < 1, nil
	}
	return e.idle <= lanes, nil
}

func (e *eye) notes() (out []string) {
	if e.capped {
		out = append(out, fmt.Sprintf("no more than %d messages are held at once, so the rest was not seen", e.src.Look.most()))
	}
	if e.late {
		out = append(out, "the first messages would have become visible again, so the look ended before all was seen")
	}
	if e.q.held > 0 {
		out = append(out, fmt.Sprintf("about %d messages were in flight with somebody else and could not be seen", e.q.held))
	}
	if e.q.late > 0 {
		out = append(out, fmt.Sprintf("about %d messages are delayed and could not be seen", e.q.late))
	}
	if e.q.fifo() {
		out = append(out, "a FIFO queue hands out only the first messages of a group, so later ones of a long group are not seen")
	}
	return out
}
