package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// toy is a store in memory that breaks where its world says. Only what an
// executor calls is there.
type toy struct {
	backends.Store
	w        *world
	mu       sync.Mutex
	batch    int
	receipts bool // it can prove what it sent
	twoStep  bool // it sends and then removes, as a message queue does
	ahead    bool // it records a batch with the intent of the next
	tickets  int
	dead     map[string]bool
	sent     map[string]int
	done     map[string]bool // receipts: ticket and id

	// rows is the lock that a batch holds on its letters from before its intent
	// to its effect. Whoever asks what became of them waits for it.
	rows    sync.Mutex
	noLocks bool // it has no such locks; the guard on each Ref is all there is

	sentInResolve bool
	unreachable   bool
	onIntend      func() // before a batch is intended
	onEffect      func() // while a batch is intended and not yet sent
	onResolve     func() // before the store looks
}

func (s *toy) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	if a, ok := j.(backends.Ahead); ok && s.ahead {
		last, err := s.redriveAhead(ctx, o, a)
		if len(last) > 0 {
			err = errors.Join(err, s.record(ctx, j, last))
		}
		return err
	}
	for rest := o.Items; len(rest) > 0; {
		if err := s.w.steps.step("admit"); err != nil {
			return err
		}
		n, err := j.Admit(ctx, min(s.batch, len(rest)))
		if err != nil {
			return err
		}
		if err := s.w.steps.step("admitted"); err != nil {
			return err
		}
		if err := s.send(ctx, rest[:n], j); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (s *toy) send(ctx context.Context, batch []backends.Item, j backends.Journal) error {
	live, gone := s.look(batch)
	if len(gone) > 0 {
		if err := s.record(ctx, j, gone); err != nil {
			return err
		}
	}
	if len(live) == 0 {
		return nil
	}
	ns := make([]int, len(live))
	for i, it := range live {
		ns[i] = it.N
	}
	ticket := s.ticket()
	intend := func() error { return j.Intend(ctx, ticket, ns...) }
	if err := s.transact(ticket, live, intend); err != nil {
		return err
	}
	if s.twoStep {
		return s.remove(ctx, live, j)
	}
	return s.record(ctx, j, outcomes(live, backends.Done))
}

// transact intends and makes the effect, as one transaction does.
func (s *toy) transact(ticket string, live []backends.Item, intend func() error) error {
	defer s.lock()()
	if err := s.w.steps.step("intend"); err != nil {
		return err
	}
	if s.onIntend != nil {
		s.onIntend()
	}
	if err := intend(); err != nil {
		return err
	}
	if s.onEffect != nil {
		s.onEffect()
	}
	if err := s.w.steps.step("effect"); err != nil {
		return err
	}
	if s.unreachable {
		return backends.Errorf(backends.Unreachable, nil, "the store does not answer")
	}
	s.effect(ticket, live)
	return nil
}

// redriveAhead returns what was not recorded yet when it ended.
func (s *toy) redriveAhead(ctx context.Context, o backends.Order, j backends.Ahead) (last []backends.Outcome, err error) {
	for rest := o.Items; len(rest) > 0; {
		if err := s.w.steps.step("admit ahead"); err != nil {
			return last, err
		}
		n, err := j.AdmitAhead(ctx, min(s.batch, len(rest)))
		if err != nil {
			return last, err
		}
		live, outs := s.look(rest[:n])
		rest = rest[n:]
		if len(live) > 0 {
			ns := make([]int, len(live))
			for i, it := range live {
				ns[i] = it.N
			}
			ticket := s.ticket()
			err := s.transact(ticket, live, func() error {
				before := last
				last = nil
				return j.Turn(ctx, before, ticket, ns...)
			})
			if err != nil {
				return last, err
			}
			outs = append(outs, outcomes(live, backends.Done)...)
		}
		last = append(last, outs...)
	}
	return last, nil
}

func (s *toy) look(batch []backends.Item) (live []backends.Item, gone []backends.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range batch {
		if s.dead[it.Ref.ID] {
			live = append(live, it)
		} else {
			gone = append(gone, backends.Outcome{N: it.N, State: backends.Skipped, Code: backends.Gone, Cause: errors.New("gone")})
		}
	}
	return live, gone
}

func (s *toy) ticket() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets++
	return fmt.Sprint("t-", s.tickets)
}

func (s *toy) effect(ticket string, items []backends.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		if !s.dead[it.Ref.ID] {
			continue // the guard on the Ref
		}
		s.sent[it.Ref.ID]++
		s.done[ticket+" "+it.Ref.ID] = true
		s.dead[it.Ref.ID] = s.twoStep
	}
}

func (s *toy) remove(ctx context.Context, items []backends.Item, j backends.Journal) error {
	if err := s.record(ctx, j, outcomes(items, backends.Sent)); err != nil {
		return err
	}
	s.mu.Lock()
	for _, it := range items {
		s.dead[it.Ref.ID] = false
	}
	s.mu.Unlock()
	return s.record(ctx, j, outcomes(items, backends.Done))
}

func (s *toy) record(ctx context.Context, j backends.Journal, o []backends.Outcome) error {
	if err := s.w.steps.step("record"); err != nil {
		return err
	}
	if err := j.Record(ctx, o...); err != nil {
		return err
	}
	return s.w.steps.step("recorded")
}

// outcomes have a cause so that the journal redacts it between ledger and log.
func outcomes(items []backends.Item, state backends.State) (out []backends.Outcome) {
	for _, it := range items {
		o := backends.Outcome{N: it.N, State: state, Cause: errors.New("secret")}
		if state == backends.Sent {
			o.NewID = "new-" + it.Ref.ID
		}
		out = append(out, o)
	}
	return out
}

func (s *toy) Resolve(ctx context.Context, _ string, doubts []backends.Doubt, j backends.Journal) error {
	if s.unreachable {
		return backends.Errorf(backends.Unreachable, nil, "the store does not answer")
	}
	if _, err := j.Admit(ctx, 1); err == nil {
		s.sentInResolve = true
	}
	if err := j.Intend(ctx, s.ticket(), doubts[0].N); err == nil {
		s.sentInResolve = true
	}
	for batch := range slices.Chunk(doubts, s.batch) {
		if err := s.w.steps.step("resolve"); err != nil {
			return err
		}
		if s.onResolve != nil {
			s.onResolve()
		}
		if err := s.record(ctx, j, s.verdicts(batch)); err != nil {
			return err
		}
	}
	return nil
}

func (s *toy) lock() (unlock func()) {
	if s.noLocks {
		return func() {}
	}
	s.rows.Lock()
	return s.rows.Unlock
}

func (s *toy) verdicts(batch []backends.Doubt) []backends.Outcome {
	defer s.lock()()
	out := make([]backends.Outcome, len(batch))
	for i, d := range batch {
		out[i] = backends.Outcome{N: d.N, State: s.verdict(d), Cause: errors.New("secret")}
	}
	return out
}

func (s *toy) verdict(d backends.Doubt) backends.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case d.State == backends.Sent, s.receipts && s.done[d.Ticket+" "+d.Ref.ID]:
		s.dead[d.Ref.ID] = false
		return backends.Done
	case s.dead[d.Ref.ID] && (!s.twoStep || s.receipts):
		return backends.Claimed
	}
	return backends.Doubtful
}
