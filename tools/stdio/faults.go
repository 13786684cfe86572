package stdio

import (
	"crypto/rand"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
)

const (
	maxStack   = 4 << 10 // bytes of one report
	maxReports = 8       // a client that does not read stderr must not block us
)

// faults tells of errors and panics that should not be: a number to the client,
// the rest to the operator.
type faults struct {
	mu   sync.Mutex
	to   io.Writer
	told int
}

// report writes an error or a recovered panic with its stack and gives the
// sentence for the client. Such a text may hold anything, so the client never
// sees it.
func (f *faults) report(what any) string {
	id := rand.Text()[:10]
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to != nil && f.told < maxReports {
		f.told++
		text := fmt.Sprintf("internal error %s: %v\n", id, what)
		if _, isError := what.(error); !isError {
			text += string(debug.Stack())
		}
		fmt.Fprintf(f.to, "%s\n", text[:min(len(text), maxStack)])
	}
	return "internal error " + id
}
