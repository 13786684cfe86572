package audit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// The test binary runs itself as a second process that writes or that holds
// the lock.
func TestMain(m *testing.M) {
	switch os.Getenv("AUDIT_TEST_CHILD") {
	case "write":
		os.Exit(childWrites(os.Args[1]))
	case "hold":
		os.Exit(childHoldsLock(os.Args[1]))
	}
	os.Exit(m.Run())
}

func newState(t testing.TB) *durable.Folder {
	t.Helper()
	state, err := durable.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	return state
}

func openLog(t testing.TB, state *durable.Folder, opts Options) *Log {
	t.Helper()
	if opts.Host == "" {
		opts.Host, opts.PID = "web-1", 4711
	}
	log, err := Open(state, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

func mustAppend(t testing.TB, log *Log, recs ...Record) Head {
	t.Helper()
	head, err := log.Append(t.Context(), recs...)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func verify(t testing.TB, state *durable.Folder, expect ...Head) Report {
	t.Helper()
	report, err := Verify(t.Context(), state, VerifyOptions{Expect: expect})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func wantIntact(t testing.TB, state *durable.Folder, records uint64) Report {
	t.Helper()
	report := verify(t, state)
	if report.Status != Intact || report.Records != records {
		t.Fatalf("status %v, %d records, want intact with %d; bad %v, warnings %q, dangling %v, objects %v",
			report.Status, report.Records, records, report.Bad, report.Warnings, report.Dangling, report.Objects)
	}
	return report
}

func all(t testing.TB, state *durable.Folder, q Query) []Record {
	t.Helper()
	var recs []Record
	for r, err := range Read(t.Context(), state, q) {
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, r)
	}
	return recs
}

// segmentPath returns the path of a segment of a state folder.
func segmentPath(state *durable.Folder, first uint64) string {
	return filepath.Join(state.Path(), logFolder, segmentName(first))
}

// ticking returns a clock that goes on by a millisecond with each look.
func ticking() func() time.Time {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}
}
