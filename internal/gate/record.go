package gate

import (
	"context"
	"errors"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

func (c *call) record(phase string) audit.Record {
	r := audit.Record{
		Op: c.op, Phase: phase, Actor: c.caller.Name(), Client: c.caller.Client, Session: c.caller.Session,
		Mode: Mode, Tool: c.tool, Queue: c.queueName(), Kept: c.urgent,
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
	err = ledgerRefusal(err)
	rec := c.record(audit.PhaseDecision)
	rec.DurMS = c.s.g.o.Clock().Sub(c.began).Milliseconds()
	rec.Outcome = "answered"
	if err != nil {
		c.fillRefusal(&rec, err)
		c.s.patience.spend(c.s.g.o.Clock())
	}
	if _, aerr := c.st.log.Append(context.WithoutCancel(ctx), rec); aerr != nil {
		return auditRefusal(aerr, err)
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
		return redactor{Redaction: q.Redact}.text(text)
	}
	for _, name := range queueNames(p) {
		text = redactor{Redaction: p.Queues[name].Redact}.text(text)
	}
	return text
}

// heard records a message that reaches no tool.
func (s *session) heard(ctx context.Context, m Message) error {
	log, err := s.g.logOnly()
	if err != nil {
		return err
	}
	c := &call{s: s, op: ledger.NewID("o"), caller: s.who()}
	c.tool = oneLine(c.clean(m.Method), maxName)
	rec := c.record(audit.PhaseCall)
	if m.Tool != "" {
		rec.Args = append(rec.Args, audit.Arg{Key: "name", Value: oneLine(c.clean(m.Tool), maxName)})
	}
	if m.Err != "" {
		rec.Outcome, rec.Err = "refused", c.clean(m.Err) // it may quote the client
	}
	if err := log.Refused(ctx, rec); err != nil {
		return auditRefusal(err)
	}
	return nil
}
