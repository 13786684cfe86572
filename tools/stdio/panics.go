package stdio

import (
	"crypto/rand"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
)

const (
	maxStack   = 4 << 10 // bytes of one stack
	maxReports = 8       // a client that does not read stderr must not block us
)

// panics tells of panics: a number to the client, the stack to the operator.
type panics struct {
	mu   sync.Mutex
	to   io.Writer
	told int
}

// report writes the stack of the panic that is being recovered and gives the
// sentence for the client. What a panic says may hold anything, so the client
// never sees it.
func (p *panics) report(what any) string {
	id := rand.Text()[:10]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to != nil && p.told < maxReports {
		p.told++
		stack := debug.Stack()
		fmt.Fprintf(p.to, "internal error %s: %v\n%s\n", id, what, stack[:min(len(stack), maxStack)])
	}
	return "internal error " + id
}
