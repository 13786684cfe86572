package demo

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWorkerWords(t *testing.T) {
	for _, words := range [][]string{{}, {"--db", filepath.Join(t.TempDir(), "none.db")}, {"--unknown"}, {"--db", t.TempDir(), "more"}} {
		if err := Worker(t.Context(), words); err == nil {
			t.Errorf("worker %q ran", words)
		}
	}
}

// TestWorkerStays: without --until-idle a worker takes what is queued later, and
// ends without an error when it is told to.
func TestWorkerStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.db")
	jobs, err := createTable(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Worker(ctx, []string{"--db", file}) }()
	if err := jobs.enqueue(t.Context(), evening(1, 1, 1)); err != nil {
		t.Fatal(err)
	}
	got := await(t, jobs)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	for i, want := range []string{"completed", "dead", "dead"} {
		if got[i].status != want {
			t.Errorf("job %d is %s, not %s", got[i].id, got[i].status, want)
		}
	}
}

// await looks until no job is queued or running: another connection changes them.
func await(t *testing.T, jobs *table) []row {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		rows, err := jobs.rows(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, r := range rows {
			if r.status == "queued" || r.status == "running" {
				open++
			}
		}
		if open == 0 {
			return rows
		}
	}
	return nil
}

func TestProvider(t *testing.T) {
	good, bad := charge(0, "EUR", "thanks!").payload, charge(1, "EU", hostile).payload
	for _, c := range []struct {
		name          string
		down          bool
		id            int64
		kind, payload string
		want          string
	}{
		{"up", false, 1, "charge", good, ""},
		{"throttles", true, 1, "charge", good, "HTTP 429"},
		{"does not answer", true, 4, "charge", good, "TimeoutError: "},
		{"bad currency", false, 1, "charge", bad, `unknown currency "EU", card ` + cardPrefix},
		{"bad currency while down", true, 1, "charge", bad, hostile},
		{"video", false, 1, "transcode", `{}`, "moov atom not found"},
		{"no JSON", false, 1, "charge", `{`, "ValueError: "},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, provider{c.down}.run(c.id, c.kind, c.payload), c.want) })
	}
	if !strings.Contains(good, "9007199254740993") {
		t.Errorf("the order number is not beyond 2^53: %s", good)
	}
}
