package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Scan yields the letters that looks saw, the newest sent first. It takes nothing
// out of the queue. The body is always read: the error may stand in it.
func (s *Store) Scan(ctx context.Context, q backends.Query) iter.Seq2[*backends.DeadLetter, error] {
	return func(yield func(*backends.DeadLetter, error) bool) {
		r, snaps, err := s.known(ctx, q.Queue)
		if err != nil {
			yield(nil, err)
			return
		}
		ask := backends.SnapshotQuery{IDs: q.IDs, AsOf: q.AsOf, Bodies: true}
		if q.After != "" {
			if ask.Order, ask.After, err = position(q.After); err != nil {
				yield(nil, err)
				return
			}
		}
		for snap, err := range snaps.Letters(ctx, r.place, ask) {
			var d *backends.DeadLetter
			if err == nil {
				d, err = r.show(snap, q.Bodies)
			}
			if !yield(d, readable(err)) || err != nil {
				return
			}
		}
	}
}

// readable is a failure to read snapshots, in our own words.
func readable(err error) error {
	if _, ok := errors.AsType[*backends.Error](err); ok || err == nil {
		return err
	}
	return backends.Errorf(backends.Internal, err, "what was seen of the queue cannot be read").
		WithHint("if it stays so, delete the files snapshots* of the state folder and look again")
}

// routeTime is how long what SQS said about its queues is good enough to show
// letters by. Before anything is sent SQS is asked anew.
const routeTime = 10 * time.Second

// known is what SQS said about the queues a moment ago, and the snapshots.
func (s *Store) known(ctx context.Context, queue string) (*route, backends.Snapshots, error) {
	s.mu.Lock()
	r := s.routes[queue]
	s.mu.Unlock()
	if r == nil || time.Since(r.at) > routeTime {
		var err error
		if r, err = s.route(ctx, queue); err != nil {
			return nil, nil, err
		}
		s.mu.Lock()
		s.routes[queue] = r
		s.mu.Unlock()
	}
	snaps, err := s.snapshots(ctx)
	return r, snaps, err
}

// show makes a letter of a snapshot.
func (r *route) show(snap *backends.Snapshot, bodies bool) (*backends.DeadLetter, error) {
	var f facts
	if err := json.Unmarshal(snap.Facts, &f); err != nil {
		return nil, backends.Errorf(backends.Internal, err, "a snapshot cannot be read").WithHint("look at the queue again with refresh")
	}
	p := r.open(snap.ID, f, snap.Body)
	d := r.deadLetter(p, snap.Looks, len(p.letter.Payload))
	d.After = fmt.Sprintf("%d %s", snap.Order, snap.ID)
	if bodies {
		e := p.envelope(true)
		d.Digest, d.Envelope, d.Payload.Bytes = e.Digest(), e.Bytes(), p.letter.Payload
	}
	return &d, nil
}

// position reads a DeadLetter.After.
func position(after string) (order int64, id string, err error) {
	number, id, ok := strings.Cut(after, " ")
	order, err = strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || id == "" {
		return 0, "", backends.Errorf(backends.BadPosition, err, "this is no position of a listing of this queue")
	}
	return order, id, nil
}
