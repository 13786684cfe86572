package stdio

import (
	"context"
	"sync"
)

// pending are the requests that have no answer yet.
type pending struct {
	mu   sync.Mutex
	open map[string]*request
}

type request struct {
	cancel    context.CancelCauseFunc
	cancelled bool // the client took it back
}

// add enters a request, unless one with the same id is open.
func (p *pending) add(key string, cancel context.CancelCauseFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.open[key]; ok {
		return false
	}
	if p.open == nil {
		p.open = map[string]*request{}
	}
	p.open[key] = &request{cancel: cancel}
	return true
}

// cancel marks a request as taken back and ends its context with that cause.
func (p *pending) cancel(key string, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.open[key]; ok {
		r.cancelled = true
		r.cancel(cause)
	}
}

// cancelled reports whether an open request was taken back. Asked once, just
// before a request is handled, it decides: one cancelled earlier never runs, one
// cancelled later has begun and its context ends.
func (p *pending) cancelled(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.open[key]
	return ok && r.cancelled
}

// finish removes a request, ends its context and reports whether it may be
// answered.
func (p *pending) finish(key string) (answer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.open[key]
	delete(p.open, key)
	if ok {
		r.cancel(nil)
	}
	return ok && !r.cancelled
}
