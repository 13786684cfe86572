package sqstest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Call is one that a proxy has seen.
type Call struct {
	Action  string
	Queue   string  // the name; "" where the call is about none
	Request []byte  // as the client sent it
	Done    *Answer // what the server said; nil if it was not asked, or had no answer
	Answer  *Answer // what the client was told; nil if its connection was closed

	began, ended int // on the proxy's clock; ended is 0 while it goes on
}

// Decode reads the request into a struct such as *sqs.SendMessageBatchInput,
// whose fields have the names of the protocol's.
func (c Call) Decode(into any) error {
	if err := json.Unmarshal(c.Request, into); err != nil {
		return fmt.Errorf("decoding a call of %s: %w", c.Action, err)
	}
	return nil
}

// Status is what the client was told; 0 if its connection was closed.
func (c Call) Status() int {
	if c.Answer == nil {
		return 0
	}
	return c.Answer.Status
}

// Calls are the calls that have ended, in the order in which they began: those of
// the actions, or all.
func (p *Proxy) Calls(actions ...string) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls []Call
	for _, c := range p.calls {
		if c.ended != 0 && (len(actions) == 0 || slices.Contains(actions, c.Action)) {
			calls = append(calls, *c)
		}
	}
	return calls
}

// Forget empties the list of calls.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

// arrive remembers a call and finds what is to happen to it.
func (p *Proxy) arrive(x *Exchange) (faults []Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock++
	x.began = p.clock
	p.calls = append(p.calls, x.Call)
	for _, r := range p.rules {
		if r.holds(*x.Call) {
			faults = append(faults, r.Do)
		}
	}
	return faults
}

func (p *Proxy) leave(x *Exchange, answer *Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock++
	x.Answer, x.ended = answer, p.clock
}

// queueOf is the name of the queue that a request is about.
func queueOf(request []byte) string {
	var in struct{ QueueUrl, QueueName, SourceArn string }
	if json.Unmarshal(request, &in) != nil {
		return ""
	}
	if in.SourceArn != "" {
		return in.SourceArn[strings.LastIndexByte(in.SourceArn, ':')+1:]
	}
	if in.QueueName != "" {
		return in.QueueName
	}
	return in.QueueUrl[strings.LastIndexByte(in.QueueUrl, '/')+1:]
}
