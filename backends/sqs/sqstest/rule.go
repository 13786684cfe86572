package sqstest

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// Rule says what happens to which calls.
type Rule struct {
	Action string          // "" is any
	Queue  string          // the name; "" is any
	When   func(Call) bool // nil is always; asked about a call before it is answered

	// Of the calls that the above let through, counted from 1 since the rule was
	// added: the one that Nth says, or those from From to To, of which 0 is no
	// bound. With none of them it is all.
	Nth, From, To int

	Do Fault
}

// Fault is what happens to a call: next is the rest of it, with the server at its
// end. A fault may change x.Body before, and the answer behind. Where it returns
// nil the connection is closed without an answer.
type Fault func(x *Exchange, next func() *Answer) *Answer

// Exchange is a call that is going on.
type Exchange struct {
	*Call
	Body []byte // what the server gets to see; Request stays what the client sent

	proxy  *Proxy
	header http.Header
	gone   context.Context // ends when the client goes away
}

// standing is a rule and how many calls it has seen.
type standing struct {
	Rule
	seen int
}

// Add lets rules hold from now on. Those that were added first see a call first,
// and its answer last.
func (p *Proxy) Add(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range rules {
		p.rules = append(p.rules, &standing{Rule: r})
	}
}

// Clear takes all rules away.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Deny refuses actions as IAM does, from now on; the permission to send, to
// delete and to change a visibility is that to do so in batches.
func (p *Proxy) Deny(permissions ...string) {
	p.Add(Rule{Do: AccessDenied(), When: func(c Call) bool {
		return slices.Contains(permissions, strings.TrimSuffix(c.Action, "Batch"))
	}})
}

// holds reports whether the rule is about the call, and counts it.
func (r *standing) holds(c Call) bool {
	if r.Action != "" && r.Action != c.Action || r.Queue != "" && r.Queue != c.Queue || r.When != nil && !r.When(c) {
		return false
	}
	r.seen++
	if r.Nth != 0 {
		return r.seen == r.Nth
	}
	return r.seen >= r.From && (r.To == 0 || r.seen <= r.To)
}

// run lets the faults happen, the first one outermost.
func (x *Exchange) run(faults []Fault) *Answer {
	if len(faults) == 0 {
		x.Done = x.proxy.ask(x)
		return x.Done.clone()
	}
	return faults[0](x, func() *Answer { return x.run(faults[1:]) })
}

func (a *Answer) clone() *Answer {
	if a == nil {
		return nil
	}
	return &Answer{Status: a.Status, Header: a.Header.Clone(), Body: slices.Clone(a.Body)}
}
