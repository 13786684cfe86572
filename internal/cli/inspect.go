package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// inspect shows one letter in full.
func (a *app) inspect(ctx context.Context, p *gate.Person, args gate.InspectArgs) error {
	r, err := p.Inspect(ctx, args)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	a.printFacts([][2]string{
		{"letter", r.ID + " of " + r.Queue},
		{"died", a.both(r.Died)},
		{"last attempt", a.both(r.LastTry)},
		{"enqueued", a.both(r.Enqueued)},
		{"expires", a.both(r.Expires)},
		{"attempts", r.Attempts},
		{"class", strings.TrimSpace(r.Class + " " + r.Code)},
		{"group", r.Group},
		{"reason from", r.ReasonFrom},
		{"payload", payload(r.Payload)},
		{"redriven before", some(r.Replays)},
		{"claimed by", r.Claimed},
		{"policy", r.Policy.Unpatched + ": " + r.Policy.Why},
		{"allowed", r.Policy.Allowed},
		{"if patched", r.Policy.Patched},
		{"patch may change", strings.Join(r.Policy.Paths, ", ")},
	})
	for _, e := range r.Earlier {
		a.printf("%-17s %s: %s (%s)\n", "earlier", oneLine(e.RequestID), oneLine(e.Outcome), a.when(e.At))
	}
	a.printf("\n%s\n", block(r.Text))
	if r.NextOffset > 0 {
		a.nextf("%s letters %s --id %s --offset %d shows more of the payload", program, oneLine(r.Queue), word(r.ID), r.NextOffset)
		return nil
	}
	a.nextAfterLetter(r)
	return nil
}

// nextAfterLetter proposes a redrive that the policy does not forbid.
func (a *app) nextAfterLetter(r *gate.InspectResult) {
	redrive := fmt.Sprintf("%s redrive %s --id %s", program, oneLine(r.Queue), word(r.ID))
	switch {
	case r.Claimed != "":
		a.nextf("%s show %s", program, oneLine(r.Claimed))
	case r.Policy.Unpatched != never:
		a.nextf("%s --reason TEXT --dry-run", redrive)
	case r.Policy.Patched != never && len(r.Policy.Paths) > 0 && r.Payload.Patchable:
		a.nextf("the policy forbids it as it is: %s --patch FILE --reason TEXT --dry-run", redrive)
	default:
		a.nextf("the policy forbids a redrive; %s policy explain %s --id %s says why", program, oneLine(r.Queue), word(r.ID))
	}
}

// never is what the policy says to a letter that must not be redriven.
const never = "never"

// printFacts prints "name  value" lines; those without a value are left out.
func (a *app) printFacts(facts [][2]string) {
	for _, f := range facts {
		if f[1] != "" {
			a.printf("%-17s %s\n", f[0], oneLine(f[1]))
		}
	}
}

// both is a time and its age.
func (a *app) both(at string) string {
	if at == "" {
		return ""
	}
	return at + " (" + a.when(at) + ")"
}

func payload(p gate.PayloadInfo) string {
	parts := []string{size(p.Bytes) + " bytes"}
	if p.Withheld != "" {
		parts = []string{"withheld"} // nor is its size told
	}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(p.ContentType)
	add(strings.ReplaceAll(p.Provenance, "_", " "))
	if p.Hidden > 0 {
		add(count(p.Hidden, "value") + " hidden")
	}
	add(p.Withheld)
	if !p.Patchable && p.Withheld == "" {
		add("cannot be patched: " + p.WhyNot)
	}
	return strings.Join(parts, ", ")
}
