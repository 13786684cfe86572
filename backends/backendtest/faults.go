package backendtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// ours checks that an error is one of ours and shows nothing of the store.
func ours(t testing.TB, err error, codes ...backends.Code) {
	t.Helper()
	e, ok := errors.AsType[*backends.Error](err)
	if !ok {
		t.Errorf("the error %v is no *backends.Error", err)
		return
	}
	match := len(codes) == 0
	for _, c := range codes {
		match = match || e.Code == c
	}
	if !match {
		t.Errorf("the code is %s, want %v", e.Code, codes)
	}
	if said := e.Error() + e.Hint; strings.Contains(said, secret) || e.Sentence == "" || e.Cause != nil && strings.Contains(said, e.Cause.Error()) {
		t.Errorf("the error says %q, want a sentence of ours alone", said)
	}
}

// faults: errors are coded, in our words, and end a scan.
func faults(t testing.TB, b Bench) {
	s := open(t, b)
	b.Kill(t, some(1))
	var errs []error
	for l, err := range s.Scan(t.Context(), backends.Query{Queue: b.Queue, After: "no position of yours " + secret}) {
		if err == nil {
			t.Errorf("behind a bad position stands the letter %s", l.ID)
			continue
		}
		errs = append(errs, err)
	}
	if len(errs) != 1 {
		t.Errorf("a bad position gave %d errors, want 1", len(errs))
	}
	for _, err := range errs {
		ours(t, err, backends.BadPosition)
	}
	_, err := s.Depth(t.Context(), "no-such-queue-"+secret)
	ours(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Scan(gone, backends.Query{Queue: b.Queue}) {
		if err != nil {
			ours(t, err)
		}
	}
}
