package audit

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The bytes of lines are a promise to auditors: a change here is a new version.
func TestGoldenLines(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 123456789, time.FixedZone("CET", 3600))
	c := chain{prev: noHash}
	var got []byte
	for _, r := range []Record{
		{Phase: PhaseStart, Args: []Arg{{"nonce", noHash}}, Host: "web-1", PID: 4711},
		{
			Op: "op-1", Phase: PhaseCall, Actor: "luis", Client: "agent/1.0", Session: "s1", Mode: "guardrail", Proof: "none",
			Tool: "request_redrive", Queue: "orders", Policy: "p", Rule: "settled", Effect: "direct", Why: "quiet", Plan: "p1",
			Run: "r1", Outcome: "sent", Err: "none", DurMS: 12, Host: "web-1", PID: 4711,
			Args:  []Arg{{"limit", 10}, {"dry_run", true}, {"ids", []string{"a", "b"}}, {"big", uint64(1<<64 - 1)}},
			Items: []Item{{N: 1, ID: "m-1", Commit: "c1", State: "sent", Code: "ok", NewID: "n-1"}, {N: 2}},
		},
		{Phase: PhaseCall, Err: "quote \" backslash \\ newline \n escape \x1b del \x7f é € 🦊 bidi \u202e bad \xff", Args: []Arg{{"k\n", "<&>"}}},
		{Phase: PhaseOutcome, Op: "o", Plan: "p", Items: make([]Item, 101)},
	} {
		got = c.add(got, r, now)
	}
	path := filepath.Join("testdata", "lines.golden.jsonl")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("lines\n%s\nwant\n%s", got, want)
	}
}
