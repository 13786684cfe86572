package gate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// maxName is how many characters of a caller's name are kept.
const maxName = 80

// session is one caller's time at the door.
type session struct {
	g *Gate

	mu     sync.Mutex
	caller Caller

	// live ends when the session does: its direct runs stop between two batches.
	live context.Context
	end  context.CancelFunc
	runs sync.WaitGroup

	patience patience // with calls that are refused

	// leaving ends when the client goes: direct runs end with the batch in hand.
	leaving context.Context
	left    context.CancelFunc
}

func (g *Gate) session(c Caller) *session {
	// A plan's bytes have one spelling only if every word in them is UTF-8.
	for _, word := range []*string{&c.Principal, &c.OSUser, &c.Host, &c.Client, &c.Session} {
		*word = oneLine(*word, maxName)
	}
	live, end := context.WithCancel(context.Background())
	leaving, left := context.WithCancel(live)
	return &session{g: g, caller: c, live: live, end: end, leaving: leaving, left: left}
}

func (s *session) who() Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caller
}

func (s *session) setClient(name, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caller.Client = oneLine(name, maxName)
	if session != "" {
		s.caller.Session = oneLine(session, maxName)
	}
}

// start runs f beside the calls of the session. It reports false, and does
// nothing, once the session has ended.
func (s *session) start(f func(live context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live.Err() != nil {
		return false
	}
	s.g.runs.Add(1)
	s.runs.Go(func() {
		defer s.g.runs.Done()
		f(s.live)
	})
	return true
}

func (s *session) close(ctx context.Context) error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.runs.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call is one call while it is carried out: the operation in the log, the policy
// and the state it works with.
type call struct {
	s      *session
	op     string
	tool   string
	queue  string
	caller Caller
	pol    *policy.Policy
	st     *state
	began  time.Time
	urgent bool // it may use the space that is held back on a full disk
}

// urgent reports whether a call must work while the disk is full: a person looks
// at what is going on, or halts it.
func urgent(who Caller, tool string) bool {
	switch tool {
	case "list_queues", "get_redrive", "show", "cancel_redrive", "stop":
		return who.Kind == KindPerson
	}
	return false
}

// words are an argument in the caller's own words: a hidden value may have been
// pasted into them, so the policy's patterns run over them before they are kept.
type words string

// begin loads the policy as it stands now and writes the call to the log, before
// any letter is read for it.
func (s *session) begin(ctx context.Context, tool, queue string, args ...audit.Arg) (*call, error) {
	if err := s.flooded(s.g.o.Clock()); err != nil {
		return nil, s.refusedArgs(ctx, tool, queue, err)
	}
	who := s.who()
	st, err := s.g.state(ctx, urgent(who, tool))
	if err != nil {
		return nil, err
	}
	c := &call{s: s, op: ledger.NewID("o"), tool: tool, queue: queue, caller: who, st: st, began: s.g.o.Clock(), urgent: urgent(who, tool)}
	var bad error
	c.pol, bad = s.g.policyNow(ctx)
	rec := c.record(audit.PhaseCall)
	for _, a := range args {
		if w, ok := a.Value.(words); ok {
			a.Value = c.clean(string(w))
		}
		rec.Args = append(rec.Args, a)
	}
	if _, err := st.log.Append(ctx, rec); err != nil {
		return nil, auditRefusal(err)
	}
	if bad != nil {
		return nil, c.done(ctx, bad)
	}
	return c, nil
}

// target is one queue with its store.
// It is for one goroutine.
type target struct {
	q      *policy.Queue
	store  backends.Store
	at     backends.Target
	can    backends.Can
	prints backends.Fingerprints
}

// open finds a queue of the policy and connects to its store.
func (c *call) open(ctx context.Context, queue string) (*target, error) {
	q, ok := c.pol.Queues[queue]
	if !ok {
		return nil, refuse(CodeNoQueue, "There is no queue %s. The queues are: %s.", quote(queue), names(c.pol))
	}
	store, err := c.s.g.store(c.pol, q.Backend)
	if err != nil {
		return nil, storeRefusal(queue, err)
	}
	at, err := store.Target(ctx, queue)
	if err != nil {
		return nil, storeRefusal(queue, err)
	}
	return &target{q: q, store: store, at: at, can: store.Can(queue)}, nil
}

func (s *session) queueNames() []string {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	return queueNames(s.g.pol)
}

func queueNames(p *policy.Policy) []string {
	out := make([]string, 0, len(p.Queues))
	for name := range p.Queues {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// names lists the queues in a sentence.
func names(p *policy.Policy) string {
	return strings.Join(queueNames(p), ", ")
}
