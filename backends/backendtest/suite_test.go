package backendtest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

func TestToy(t *testing.T) { Run(t, newToy("").bench()) }

// TestSuiteFails holds stores that lie against the suite: each must fail, and
// in the check that is there for it.
func TestSuiteFails(t *testing.T) {
	for _, c := range []struct {
		lie   lie
		check string
	}{
		{"invents facts", "facts"},
		{"lists oldest first", "order and positions"},
		{"ignores as of", "as of"},
		{"takes 07 for 7", "ids"},
		{"yields letters of other queues", "ids"},
		{"rewrites bodies", "bodies"},
		{"reads bodies unasked", "bodies"},
		{"quotes the store in errors", "errors"},
		{"sends twice", "redrive"},
		{"never intends", "redrive"},
		{"acts before intending", "redrive"},
		{"records before acting", "redrive"},
		{"admits once", "redrive in batches"},
		{"matches by id alone", "guard"},
		{"seals the body alone", "guard"},
		{"forgets which death", "guard"},
		{"drops a skipped item", "guard"},
		{"forgets the patch", "patch"},
		{"acts against the journal", "journal refuses"},
		{"hides the journal's error", "journal refuses"},
		{"compares before admit", "read after admit"},
		{"takes not dead for sent", "crash once"},
		{"believes every intent", "crash once"},
		{"gives up in resolve", "crash once"},
		{"sends in resolve", "crash twice"},
		{"never stops", "cancel"},
		{"sends what another sent", "overtaken"},
	} {
		t.Run(string(c.lie), func(t *testing.T) {
			if r := hold(t, c.check, newToy(c.lie).bench()); !r.failed {
				t.Errorf("the check %q does not find a store that %s", c.check, c.lie)
			}
			if r := hold(t, c.check, newToy("").bench()); r.failed {
				t.Errorf("the check %q fails an honest store: %v", c.check, r.said)
			}
		})
	}
}

// hold runs one check on a recorder.
func hold(t *testing.T, name string, b Bench) *recorder {
	r := &recorder{TB: t, ctx: t.Context()}
	for _, c := range checks() {
		if c.name != name {
			continue
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.run(r, b)
		}()
		<-done
		return r
	}
	t.Fatalf("there is no check %q", name)
	return nil
}

// recorder is a test that only remembers that it failed.
type recorder struct {
	testing.TB
	ctx    context.Context
	failed bool
	said   []string
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Failed() bool             { return r.failed }
func (r *recorder) Cleanup(func())           {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
