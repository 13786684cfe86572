package gate

import (
	"context"
	"errors"
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
}

func (g *Gate) session(c Caller) *session {
	// A plan's bytes have one spelling only if every word in them is UTF-8.
	for _, word := range []*string{&c.Principal, &c.OSUser, &c.Host, &c.Client, &c.Session} {
		*word = oneLine(*word, maxName)
	}
	live, end := context.WithCancel(context.Background())
	return &session{g: g, caller: c, live: live, end: end}
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

func (s *session) isAgent() bool { return s.who().Kind == KindAgent }

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
}

// words are an argument in the caller's own words: a hidden value may have been
// pasted into them, so the policy's patterns run over them before they are kept.
type words string

// begin loads the policy as it stands now and writes the call to the log, before
// any letter is read for it.
func (s *session) begin(ctx context.Context, tool, queue string, args ...audit.Arg) (*call, error) {
	st, err := s.g.state(ctx)
	if err != nil {
		return nil, err
	}
	c := &call{s: s, op: ledger.NewID("o"), tool: tool, queue: queue, caller: s.who(), st: st, began: s.g.o.Clock()}
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

func (c *call) record(phase string) audit.Record {
	r := audit.Record{
		Op: c.op, Phase: phase, Actor: c.caller.Name(), Client: c.caller.Client, Session: c.caller.Session,
		Mode: Mode, Tool: c.tool, Queue: c.queueName(),
	}
	if c.caller.OSUser != "" {
		r.Args = []audit.Arg{{Key: "os_user", Value: c.caller.OSUser}}
	}
	if c.pol != nil {
		r.Policy = c.pol.Digest
	}
	return r
}

// queueName is the queue as the log names it: one that the policy does not know
// is the caller's own word.
func (c *call) queueName() string {
	if c.queue == "" || c.policy().Queues[c.queue] != nil {
		return c.queue
	}
	return quote(c.clean(c.queue))
}

// policy is the policy of the call, or the last one that loaded.
func (c *call) policy() *policy.Policy {
	if c.pol != nil {
		return c.pol
	}
	c.s.g.mu.Lock()
	defer c.s.g.mu.Unlock()
	return c.s.g.pol
}

// done writes how the call ended, and returns what the caller is told: err, or
// that the end could not be recorded.
func (c *call) done(ctx context.Context, err error) error {
	rec := c.record(audit.PhaseDecision)
	rec.DurMS = c.s.g.o.Clock().Sub(c.began).Milliseconds()
	rec.Outcome = "answered"
	if err != nil {
		c.fillRefusal(&rec, err)
	}
	if _, aerr := c.st.log.Append(context.WithoutCancel(ctx), rec); aerr != nil {
		return auditRefusal(errors.Join(err, aerr))
	}
	return err
}

func (c *call) fillRefusal(rec *audit.Record, err error) {
	rec.Outcome, rec.Err = "refused", err.Error()
	if r, ok := errors.AsType[*Refusal](err); ok {
		rec.Outcome, rec.Why, rec.Err = "refused: "+string(r.Code), r.Sentence, ""
		for cause := r.Cause; cause != nil; cause = errors.Unwrap(cause) {
			rec.Err = cause.Error() // the innermost is the store's own
		}
	}
	rec.Why, rec.Err = c.clean(rec.Why), c.clean(rec.Err)
}

// clean redacts text that is to be kept with the patterns of the call's queue,
// or with those of all queues while it is not known which one is meant.
func (c *call) clean(text string) string {
	if text == "" {
		return text
	}
	p := c.policy()
	if q := p.Queues[c.queue]; q != nil {
		return redactor{q.Redact}.text(text, nil)
	}
	for _, name := range queueNames(p) {
		text = redactor{p.Queues[name].Redact}.text(text, nil)
	}
	return text
}

// target is one queue with its store.
type target struct {
	q     *policy.Queue
	store backends.Store
	at    backends.Target
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
	return &target{q: q, store: store, at: at}, nil
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

// heard records a message that reaches no tool.
func (s *session) heard(ctx context.Context, m Message) error {
	st, err := s.g.state(ctx)
	if err != nil {
		return err
	}
	c := &call{s: s, op: ledger.NewID("o"), caller: s.who(), st: st}
	c.tool = oneLine(c.clean(m.Method), maxName)
	rec := c.record(audit.PhaseCall)
	if m.Tool != "" {
		rec.Args = append(rec.Args, audit.Arg{Key: "name", Value: oneLine(c.clean(m.Tool), maxName)})
	}
	if m.Err == "" {
		_, err = st.log.Append(ctx, rec)
	} else {
		rec.Outcome, rec.Err = "refused", m.Err
		err = st.log.Refused(ctx, rec)
	}
	if err != nil {
		return auditRefusal(err)
	}
	return nil
}

// names lists the queues in a sentence.
func names(p *policy.Policy) string {
	return strings.Join(queueNames(p), ", ")
}
