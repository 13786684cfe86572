package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Runbook is what somebody needs to know about a queue at night: where its
// letters are, what a redrive does, and who may do what. It holds no text of a
// store.
type Runbook struct {
	Queue    string           `json:"queue"`
	Store    string           `json:"store"`
	Target   string           `json:"target,omitempty"` // absent where the store does not answer
	Error    string           `json:"error,omitempty"`
	Facts    []backends.Place `json:"facts"`
	Effect   string           `json:"effect"`
	Attempts string           `json:"attempts"` // reset, keep or a number
	Rate     string           `json:"rate"`
	Redrive  string           `json:"redrive"` // where no rule matches
	Rules    []string         `json:"rules"`
	Limits   string           `json:"limits,omitempty"`
	Approval string           `json:"approval"`
	Patch    []string         `json:"patch_paths"`
	Hidden   []string         `json:"hidden_paths"`
	Freezes  []string         `json:"freezes"`
	Warnings []string         `json:"warnings"`
}

// Runbook describes one queue. A store that does not answer is part of the
// picture: the rest is what somebody needs then.
func (p *Person) Runbook(ctx context.Context, queue string) (*Runbook, error) {
	c, err := p.s.begin(ctx, "runbook", queue)
	if err != nil {
		return nil, err
	}
	res, err := c.runbook(ctx, queue)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *call) runbook(ctx context.Context, queue string) (*Runbook, error) {
	q, ok := c.pol.Queues[queue]
	if !ok {
		return nil, refuse(CodeNoQueue, "There is no queue %s. The queues are: %s.", quote(queue), names(c.pol))
	}
	book := c.bookOf(q)
	t, err := c.open(ctx, queue)
	if err != nil {
		book.Error = err.Error()
		return book, nil
	}
	can := t.store.Can(queue)
	book.Target, book.Facts, book.Effect = t.at.String(), can.Where, can.Effect
	book.Warnings = append(book.Warnings, can.Warnings...)
	return book, nil
}

// bookOf is what the policy alone says.
func (c *call) bookOf(q *policy.Queue) *Runbook {
	book := &Runbook{
		Queue: q.Name, Store: q.Backend.Kind, Attempts: string(q.Send.Attempts), Redrive: string(q.Effect),
		Rate: "as fast as the store takes them", Facts: []backends.Place{}, Rules: []string{}, Patch: []string{}, Hidden: []string{},
		Freezes: []string{}, Warnings: []string{},
		Approval: q.Approval.String(),
	}
	if q.Send.Rate > 0 {
		book.Rate = fmt.Sprintf("%g a second", q.Send.Rate)
	}
	if q.Limits != (policy.Limits{}) {
		book.Limits = q.Limits.String()
	}
	for _, r := range q.Rules {
		book.Rules = append(book.Rules, r.String())
	}
	for _, p := range q.Patch.Allow {
		book.Patch = append(book.Patch, p.String())
	}
	for _, p := range q.Redact.Paths {
		book.Hidden = append(book.Hidden, p.String())
	}
	for _, re := range q.Redact.Text {
		book.Hidden = append(book.Hidden, "what matches `"+re.String()+"`")
	}
	now := c.s.g.o.Clock()
	for _, f := range c.pol.Freezes {
		if now.Before(f.To) && f.Covers(q.Name) {
			book.Freezes = append(book.Freezes, fmt.Sprintf("%s: direct becomes %s from %s to %s", f.Name, f.Becomes, f.From.Format(time.RFC3339), f.To.Format(time.RFC3339)))
		}
	}
	return book
}
