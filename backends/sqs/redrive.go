package sqs

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Redrive sends the items, each found again by its id and compared whole.
func (s *Store) Redrive(ctx context.Context, o backends.Order, j backends.Journal) (err error) {
	run, err := s.run(ctx, o, j)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.search.end(ctx, run.snaps)) }()
	for len(run.search.want) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := j.Admit(ctx, min(batch, len(run.search.want)))
		if err != nil {
			return err
		}
		got, err := run.search.find(ctx, n)
		if err == nil {
			err = run.batch(ctx, got)
		}
		if err != nil {
			return err
		}
		if len(got) < n {
			return run.missing(ctx)
		}
	}
	return nil
}

// run is one Redrive.
type run struct {
	s      *Store
	r      *route
	j      backends.Journal
	snaps  backends.Snapshots
	search *search
}

func (s *Store) run(ctx context.Context, o backends.Order, j backends.Journal) (*run, error) {
	r, err := s.route(ctx, o.Queue)
	if err != nil {
		return nil, err
	}
	snaps, err := s.snapshots(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.spares(ctx, r.dlq, snaps, r.place); err != nil {
		return nil, err
	}
	return &run{s: s, r: r, j: j, snaps: snaps, search: s.search(r, o.Items)}, nil
}

// missing ends the items that a search did not find.
func (u *run) missing(ctx context.Context) error {
	var out []backends.Outcome
	for _, it := range u.search.want {
		out = append(out, backends.Outcome{N: it.N, State: backends.Skipped, Code: backends.NotFound})
	}
	if len(out) == 0 {
		return nil
	}
	return u.j.Record(ctx, out...)
}

// batch sends what was found under one ticket. From the intent on it goes to its
// end, whatever becomes of ctx.
func (u *run) batch(ctx context.Context, got []found) error {
	ready, left := u.ready(got)
	if err := u.leave(ctx, left); err != nil {
		return err
	}
	if len(ready) == 0 {
		return nil
	}
	ticket := rand.Text()
	ns := make([]int, len(ready))
	for i, f := range ready {
		ns[i] = f.item.N
	}
	if err := u.j.Intend(ctx, ticket, ns...); err != nil {
		return err
	}
	return u.deliver(context.WithoutCancel(ctx), ticket, ready)
}

// ready tells apart what is exactly what was planned and can be sent, and what is
// not sent, and why.
func (u *run) ready(got []found) (ready []found, left []backends.Outcome) {
	for _, f := range got {
		out := backends.Outcome{N: f.item.N, State: backends.Skipped, Code: backends.Changed}
		switch {
		case f.parcel.ref(u.r.queue) != f.item.Ref:
		case f.parcel.why != "":
			out.State, out.Code = backends.Failed, backends.Refused
		case !f.parcel.fits(f.item.Body):
			out.State, out.Code = backends.Failed, backends.Refused
		default:
			ready = append(ready, f)
			continue
		}
		left = append(left, out)
	}
	return ready, left
}

func (u *run) leave(ctx context.Context, left []backends.Outcome) error {
	if len(left) == 0 {
		return nil
	}
	return u.j.Record(ctx, left...)
}
