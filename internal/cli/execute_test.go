package cli

import (
	"errors"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// TestLostRace: only that another executor was faster is no news.
func TestLostRace(t *testing.T) {
	for _, tt := range []struct {
		err  error
		lost bool
	}{
		{nil, false},
		{errors.New("disk full"), false},
		{&gate.Refusal{Code: gate.CodeElsewhere, Sentence: "Request r-1 is being run by another process."}, true},
		{&gate.Refusal{Code: gate.CodeElsewhere, Sentence: "Request r-1 was not started: request r-1 is done and cannot become running."}, true},
		{&gate.Refusal{Code: gate.CodeNothing, Sentence: "Request r-1 is done; there is nothing to run."}, true},
		{&gate.Refusal{Code: gate.CodeStopped, Sentence: "Request r-1 was not started: redrives are stopped for everyone."}, false},
		{&gate.Refusal{Code: gate.CodeStore, Sentence: "The store does not answer."}, false},
	} {
		if got := lostRace(tt.err); got != tt.lost {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}

// TestPrintLetters: one row a message, those first that were not sent, with what
// the store knows of it where it answers.
func TestPrintLetters(t *testing.T) {
	s := &gate.ShowResult{
		Request: gate.RequestResult{Messages: 5, Items: []gate.ItemOutcome{
			{ID: "1", Outcome: "sent", NewID: "9"}, {ID: "2", Outcome: "not sent"}, {ID: "3", Outcome: "failed", Why: "the row changed"},
		}},
		Letters: []gate.ShownLetter{{ID: "2", Outcome: "waiting", Died: "2026-12-01T11:00:00Z", Error: backends.Hostile("boom\x1b[2J")}},
		More:    2,
	}
	u, out, _ := screen(0)
	(&app{ui: u}).printLetters(s)
	want := "ID  OUTCOME      DIED  NEW ID  WHY              ERROR\n" +
		"2   not sent  1 h ago                           boom\\x1b[2J\n" +
		"3   failed                     the row changed\n" +
		"1   sent               9\n" +
		"and 2 more\n"
	if out.String() != want {
		t.Errorf("have\n%swant\n%s", out, want)
	}
}

func TestTally(t *testing.T) {
	if got := tally(gate.RequestResult{Sent: 300, Released: 700}); got != "300 sent, 700 released" {
		t.Errorf("a halted request came to %q", got)
	}
}

func TestForPeople(t *testing.T) {
	for in, want := range map[string]string{
		"`max_messages` of mail is at most 50, got 60.":                             "--max of mail is at most 50, got 60.",
		"`filter.since` must be before `filter.until`.":                             "--since must be before --until.",
		"Give exactly one of `id`, `ids` and `group`.":                              "Give exactly one of --id, --ids and --group.",
		"asks what was fixed: give `fix` with `ref` (a deploy, a ticket) and `at`.": "asks what was fixed: give --fix REF (a deploy, a ticket) and --fix-at T.",
		"See get_redrive.": "See `show`.",
		"There is no request \"r-1\". get_redrive without an id lists the open ones.": "There is no request \"r-1\". `pending` lists the open ones.",
	} {
		if got := forPeople(in); got != want {
			t.Errorf("forPeople(%q) = %q, want %q", in, got, want)
		}
	}
}
