package ledger

import (
	"sync"
	"testing"
	"time"
)

// Those who open a new ledger at the same moment all get it: who comes second
// waits for the first, whatever step that one is at.
func TestManyOpenANewLedger(t *testing.T) {
	for range 60 {
		state := newState(t)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				l, err := Open(t.Context(), state, time.Now)
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
	}
}
