package gate

import (
	"context"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Person is what a person may do: all that an agent may, and decide.
type Person struct{ Agent }

// Inspect shows one letter; with args.Reveal what redaction hides, as far as the
// policy's redact.people grants it.
func (p *Person) Inspect(ctx context.Context, args InspectArgs) (*InspectResult, error) {
	return p.s.inspect(ctx, args)
}

// Show is everything that an approver needs to see of one request. The id may
// be shortened to any prefix that names one request.
func (p *Person) Show(ctx context.Context, id string, reveal bool) (*ShowResult, error) {
	return p.s.show(ctx, id, reveal)
}

// Pending lists the requests that wait for a decision or an executor.
func (p *Person) Pending(ctx context.Context) (*StatusResult, error) { return p.s.pending(ctx) }

// Approve records a yes to the plan with this digest (as Show gave it, so that
// what was shown is what is approved). It does not run the plan.
func (p *Person) Approve(ctx context.Context, id, digest, note string) (*RequestResult, error) {
	return p.s.decide(ctx, id, digest, decisionApprove, note)
}

// Deny records a final no. The same request by agents is refused for deny_for.
func (p *Person) Deny(ctx context.Context, id, reason string) (*RequestResult, error) {
	return p.s.decide(ctx, id, "", decisionDeny, reason)
}

// Run executes one approved request to its end, or takes over one whose
// executor died. progress may be nil; it is called after every batch.
func (p *Person) Run(ctx context.Context, id string, progress func(RequestResult)) (*RequestResult, error) {
	return p.s.run(ctx, id, progress)
}

// Watch runs every approved request as it comes, until ctx ends. It calls
// report after each. every is how often it looks.
func (p *Person) Watch(ctx context.Context, every time.Duration, report func(RequestResult, error)) error {
	return p.s.watch(ctx, every, report)
}

// RunOpen runs the requests that are approved or whose executor died now, once
// each.
func (p *Person) RunOpen(ctx context.Context, report func(RequestResult, error)) error {
	return p.s.runOpen(ctx, report)
}

// Settle ends items whose outcome is unknown: a person looked and says whether
// they were sent. ids empty means all of the request's.
func (p *Person) Settle(ctx context.Context, id string, ids []string, sent bool, reason string) (*RequestResult, error) {
	return p.s.settle(ctx, id, ids, sent, reason)
}

// Stop halts every redrive of everyone at once and keeps new ones from
// starting. It works on a full disk and is recorded as soon as that is possible.
func (p *Person) Stop(ctx context.Context, reason string) error { return p.s.stop(ctx, reason) }

// Resume takes the stop back.
func (p *Person) Resume(ctx context.Context, reason string) error { return p.s.resume(ctx, reason) }

// Doctor checks policy, state folder, ledger, log and every store.
func (p *Person) Doctor(ctx context.Context) []Finding { return p.s.doctor(ctx) }

// Explain says what the policy would say to one letter and why.
func (p *Person) Explain(ctx context.Context, queue, id string, patched bool) (string, error) {
	return p.s.explain(ctx, queue, id, patched)
}

// ShowResult is what an approver sees.
type ShowResult struct {
	Request   RequestResult `json:"request"`
	Statement []string      `json:"statement"` // at most 20 lines of printable ASCII
	Letters   []ShownLetter `json:"letters"`   // up to 20
	More      int           `json:"more,omitempty"`
	Diff      string        `json:"diff,omitempty"`    // sanitised, of the first letters that differ
	Fix       string        `json:"fix,omitempty"`     // what was mended, and whether failures stopped since
	Earlier   int           `json:"earlier,omitempty"` // letters that were redriven before
	Decisions []string      `json:"decisions,omitempty"`
}

// ShownLetter is one letter of a request.
type ShownLetter struct {
	ID      string        `json:"id"`
	Outcome string        `json:"outcome"`
	Died    string        `json:"died,omitempty"`
	Error   backends.Text `json:"error"`
	Replays int           `json:"replays,omitempty"`
}

// Finding is one line of a doctor's report.
type Finding struct {
	Level string `json:"level"` // ok, warning, error
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}
