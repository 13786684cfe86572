package gate

import (
	"sync"
	"time"
)

const (
	// mostRefused is how many calls of an agent may be refused at once, and
	// refusedEvery how often one more may be. Each writes two records, so this
	// bounds what a client that is stuck in a loop, or means harm, adds to the log.
	mostRefused  = 100
	refusedEvery = time.Second
)

// patience is what a session's refused calls use up and time gives back.
type patience struct {
	mu   sync.Mutex
	used int
	at   time.Time
}

// spend counts a refused call.
func (p *patience) spend(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recover(now)
	p.used++
}

// gone reports that the next call is not even tried.
func (p *patience) gone(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recover(now)
	return p.used >= mostRefused
}

func (p *patience) recover(now time.Time) {
	back := int(now.Sub(p.at) / refusedEvery)
	if p.used = max(0, p.used-max(0, back)); back != 0 || p.used == 0 {
		p.at = now
	}
}

// flooded refuses a call of an agent that had too many refused. That is counted
// rather than written down each time.
func (s *session) flooded(now time.Time) error {
	if s.who().Kind == KindPerson || !s.patience.gone(now) {
		return nil
	}
	return refuse(CodeLimit, "More than %d calls of this session were refused, so this one was not tried. Wait a minute, and then do what the refusals said.", mostRefused)
}
