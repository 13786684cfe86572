package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// Statuses of a request that commands branch on.
const (
	statusDryRun   = "dry_run"
	statusPending  = "pending_approval"
	statusApproved = "approved"
	statusRunning  = "running"
	statusDone     = "done"
	statusPartial  = "partial"
	statusHalted   = "halted"
	statusUnknown  = "unknown"
	statusVoid     = "void"
)

// printResult prints what a redrive came to and gives the exit code that it
// deserves.
func (a *app) printResult(ctx context.Context, r gate.RequestResult) error {
	if err := a.printState(ctx, r); err != nil {
		return err
	}
	return statusError(r)
}

// printState prints one request and what to type next.
func (a *app) printState(ctx context.Context, r gate.RequestResult) error {
	if a.json {
		return a.printJSON(r)
	}
	a.printRequest(r)
	if ctx.Err() != nil {
		a.warningf("stopped by a signal: %s of %s sent", number(r.Sent), number(r.Messages))
	}
	a.nextAfter(r)
	return nil
}

func statusError(r gate.RequestResult) error {
	switch r.Status {
	case statusPartial, statusHalted, statusUnknown:
		return errSaid(exitFailed)
	case statusVoid:
		return errSaid(exitRefused)
	}
	return nil
}

func (a *app) printRequest(r gate.RequestResult) {
	a.printSummary(r)
	a.printItems(r.Items)
}

// printSummary prints what there is to say of a request as a whole.
func (a *app) printSummary(r gate.RequestResult) {
	effect, until := r.Effect, a.both(r.NotAfter)
	if !open(r.Status) {
		effect, until = "", "" // they say what would happen, and it did or never will
	}
	a.printf("%-17s %s\n", "request", strings.TrimSpace(oneLine(r.RequestID)+" "+a.onOut(statusStyle(r.Status), oneLine(r.Status))))
	a.printFacts([][2]string{
		{"queue", r.Queue},
		{"digest", r.Digest},
		{"messages", number(r.Messages)},
		{"left out", leftOut(r.LeftOut)},
		{"would be", r.WouldBe},
		{"rule", r.Rule},
		{"why", r.Why},
		{"needs", r.Who},
		{"decided", r.Decided},
		{"came to", tally(r)},
		{"dead again", some(r.Returned)},
		{"in this store", effect},
		{"expires", a.both(r.Expires)},
		{"not after", until},
	})
}

// open says whether something of a request may still be sent.
func open(status string) bool {
	switch status {
	case statusDryRun, statusPending, statusApproved, statusRunning:
		return true
	}
	return false
}

// printItems prints messages one by one, first those that were not sent.
func (a *app) printItems(items []gate.ItemOutcome) {
	if len(items) == 0 {
		return
	}
	a.printf("\n")
	t := table{titles: []string{"ID", "OUTCOME", "NEW ID", "WHY"}}
	for _, i := range unsentFirst(items) {
		t.add(cell{text: i.ID}, cell{i.Outcome, statusStyle(i.Outcome)}, cell{text: i.NewID}, cell{text: i.Why})
	}
	a.table(t)
}

func unsentFirst(items []gate.ItemOutcome) []gate.ItemOutcome {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(x, y gate.ItemOutcome) int {
		return cmp.Compare(sent(x.Outcome), sent(y.Outcome))
	})
	return sorted
}

func sent(outcome string) int {
	if outcome == "sent" {
		return 1
	}
	return 0
}

func statusStyle(status string) style {
	switch status {
	case statusDone, "sent":
		return green
	case statusUnknown:
		return red
	case statusPending, statusPartial, statusHalted, "failed":
		return yellow
	}
	return plain
}

func leftOut(left map[string]int) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(left)) {
		parts = append(parts, fmt.Sprintf("%s %s", number(left[why]), why))
	}
	return strings.Join(parts, ", ")
}

// tally says what became of the messages, the gravest first.
func tally(r gate.RequestResult) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{r.Unknown, "unknown"}, {r.Failed, "failed"}, {r.Skipped, "skipped"}, {r.Sent, "sent"}, {r.Released, "released"}, {r.Waiting, "waiting"}} {
		if p.n > 0 {
			parts = append(parts, number(p.n)+" "+p.what)
		}
	}
	return strings.Join(parts, ", ")
}

// nextAfter says what a person can do about a request.
func (a *app) nextAfter(r gate.RequestResult) {
	id := oneLine(r.RequestID)
	switch {
	case r.Status == statusDryRun:
		a.notef("%s", oneLine(strings.Replace(r.Next, "dry_run", "--dry-run", 1)))
		a.nextf("the same without --dry-run")
	case r.Status == statusPending:
		a.nextf("%s approve %s, or %s deny %s --reason TEXT", program, id, program, id)
	case r.Status == statusApproved, r.Status == statusRunning:
		a.nextf("%s run %s", program, id)
	case r.Unknown > 0:
		a.nextf("look in the consumer whether they arrived, then %s resolve %s --sent or --not-sent --reason TEXT", program, id)
	case r.Status == statusHalted:
		a.nextf("what was not sent is released: ask again with %s redrive %s", program, oneLine(r.Queue))
	case r.Status == statusVoid:
		a.nextf("the policy asks more now: ask again with %s redrive %s", program, oneLine(r.Queue))
	}
}
