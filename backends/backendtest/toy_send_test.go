package backendtest

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

func (s toyStore) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	if s.is("admits once") {
		if _, err := j.Admit(ctx, len(o.Items)); err != nil {
			return err
		}
		return s.batch(ctx, o.Items, j)
	}
	for rest := o.Items; len(rest) > 0; {
		var early []backends.Item
		if s.is("compares before admit") {
			early, _ = s.compare(rest)
		}
		n, err := j.Admit(ctx, len(rest))
		if err != nil {
			return s.unless("hides the journal's error", err)
		}
		batch := rest[:n]
		rest = rest[n:]
		if early != nil {
			err = s.act(ctx, keep(early, batch), nil, j)
		} else {
			err = s.batch(ctx, batch, j)
		}
		if err != nil {
			return s.unless("hides the journal's error", err)
		}
		if ctx.Err() != nil && !s.is("never stops") {
			return backends.Errorf(backends.Busy, ctx.Err(), "the call was stopped")
		}
	}
	return nil
}

func (s toyStore) unless(l lie, err error) error {
	if s.is(l) {
		return nil
	}
	return err
}

func keep(items, among []backends.Item) (out []backends.Item) {
	for _, it := range items {
		for _, a := range among {
			if a.N == it.N {
				out = append(out, it)
			}
		}
	}
	return out
}

func (s toyStore) batch(ctx context.Context, items []backends.Item, j backends.Journal) error {
	hits, outcomes := s.compare(items)
	if s.is("drops a skipped item") && len(outcomes) > 0 {
		outcomes = outcomes[1:]
	}
	return s.act(ctx, hits, outcomes, j)
}

func (s toyStore) compare(items []backends.Item) (hits []backends.Item, outcomes []backends.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		r := s.rows[it.Ref.ID]
		skip := func(c backends.Code) {
			outcomes = append(outcomes, backends.Outcome{N: it.N, State: backends.Skipped, Code: c})
		}
		switch {
		case r == nil || !r.dead:
			skip(backends.Gone)
		case s.is("matches by id alone"):
			hits = append(hits, it)
		default:
			if ref, _ := s.ref(r); ref != it.Ref {
				skip(backends.Changed)
				continue
			}
			hits = append(hits, it)
		}
	}
	return hits, outcomes
}

// act is the order of a batch. The toy compares once more when it acts, as a
// transaction would have locked.
func (s toyStore) act(ctx context.Context, hits []backends.Item, outcomes []backends.Outcome, j backends.Journal) error {
	ticket := rand.Text()
	if len(hits) > 0 {
		if s.is("acts before intending") {
			s.effect(ticket, hits)
		}
		if !s.is("never intends") {
			ns := []int{}
			for _, it := range hits {
				ns = append(ns, it.N)
			}
			if err := j.Intend(ctx, ticket, ns...); err != nil && !s.is("acts against the journal") {
				return err
			}
		}
	}
	record := func() error {
		for _, it := range hits {
			outcomes = append(outcomes, backends.Outcome{N: it.N, State: backends.Done})
		}
		return j.Record(ctx, outcomes...)
	}
	if s.is("records before acting") {
		if err := record(); err != nil {
			return err
		}
	}
	lost := s.effect(ticket, hits)
	if s.is("records before acting") {
		return nil
	}
	for _, it := range lost {
		hits = keepNot(hits, it)
		outcomes = append(outcomes, backends.Outcome{N: it.N, State: backends.Skipped, Code: backends.Gone})
	}
	return record()
}

func keepNot(items []backends.Item, not backends.Item) (out []backends.Item) {
	for _, it := range items {
		if it.N != not.N {
			out = append(out, it)
		}
	}
	return out
}

func (s toyStore) effect(ticket string, hits []backends.Item) (lost []backends.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range hits {
		r := s.rows[it.Ref.ID]
		if r == nil || !r.dead && !s.is("sends what another sent") {
			lost = append(lost, it)
			continue
		}
		if !r.dead || s.is("sends twice") {
			s.next++
			twin := *r
			twin.id, twin.dead = fmt.Sprint(s.next), false
			s.rows[twin.id] = &twin
		}
		r.dead = false
		if it.Body != nil && !s.is("forgets the patch") {
			r.body = it.Body
		}
		s.receipts[ticket+r.id] = true
	}
	return lost
}

func (s toyStore) Resolve(ctx context.Context, _ string, doubts []backends.Doubt, j backends.Journal) error {
	for _, d := range doubts {
		s.mu.Lock()
		sent := s.receipts[d.Ticket+d.Ref.ID]
		if r := s.rows[d.Ref.ID]; s.is("takes not dead for sent") {
			sent = r == nil || !r.dead
		} else if r != nil && s.is("sends in resolve") {
			r.dead, sent = false, true
		}
		s.mu.Unlock()
		o := backends.Outcome{N: d.N, State: backends.Claimed}
		switch {
		case s.is("gives up in resolve"):
			o.State, o.Code = backends.Doubtful, backends.NoAnswer
		case sent || s.is("believes every intent"):
			o.State = backends.Done
		}
		if err := j.Record(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
