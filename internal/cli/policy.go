package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

func policyCommand() command {
	return command{
		name: "policy", part: partCheck,
		short: "check, explain and describe the policy",
		long:  "Checks a policy file, says what it would say to a letter and why, and prints the JSON Schema of its format.",
		subs:  []command{policyCheck(), policyExplain(), policySchema()},
	}
}

func policyCheck() command {
	return command{
		name: "check", args: "[FILE]",
		short:   "find what is wrong with a policy file",
		long:    "Prints every fault with file, line and a hint, then warnings. It connects to no store. Exit code 1 if there is a fault, 0 if there are warnings only.",
		example: "redrive-mcp policy check policy.yaml",
		setup: func(a *app, f *flag.FlagSet) action {
			a.policyFlag(f)
			a.jsonFlag(f)
			return func(_ context.Context, args []string) error {
				if len(args) > 0 {
					a.policyFile = args[0]
				}
				return a.policyCheck()
			}
		},
	}
}

// checked is what policy check found, as --json prints it.
type checked struct {
	File     string  `json:"file"`
	Digest   string  `json:"digest,omitempty"` // absent where there are faults
	Queues   int     `json:"queues"`
	Faults   []fault `json:"faults"`
	Warnings []fault `json:"warnings"`
}

type fault struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Why    string `json:"why"`
	Hint   string `json:"hint,omitempty"`
}

func faultsOf(all []policy.Fault) []fault {
	out := make([]fault, len(all))
	for i, f := range all {
		out[i] = fault{f.File, f.Line, f.Column, f.Why, f.Hint}
	}
	return out
}

func (a *app) policyCheck() error {
	path, err := a.policyPath()
	if err != nil {
		return err
	}
	c := checked{File: path, Faults: []fault{}, Warnings: []fault{}}
	p, err := gate.LoadPolicy(a.gateOptions(path))
	if faults, ok := errors.AsType[*policy.Faults](err); ok {
		c.Faults = faultsOf(faults.All)
	} else if err != nil {
		return err
	} else {
		c.Digest, c.Queues, c.Warnings = p.Digest, len(p.Queues), faultsOf(policy.Check(p, a.now()))
	}
	if a.json {
		err = a.printJSON(c)
	} else {
		err = a.printChecked(c)
	}
	if err == nil && len(c.Faults) > 0 {
		err = errSaid(exitFailed)
	}
	return err
}

func (a *app) printChecked(c checked) error {
	for _, f := range c.Faults {
		a.printFault(red, "", f)
	}
	for _, f := range c.Warnings {
		a.printFault(yellow, "warning: ", f)
	}
	if len(c.Faults) > 0 {
		a.notef("%s: nothing runs with this policy", count(len(c.Faults), "fault"))
		return nil
	}
	a.printf("%s: %s, %s, digest %s\n", oneLine(c.File), count(c.Queues, "queue"), count(len(c.Warnings), "warning"), c.Digest)
	return nil
}

// printFault prints "file:line:column: why", which editors can jump to.
func (a *app) printFault(s style, lead string, f fault) {
	place := policy.Fault{File: f.File, Line: f.Line, Column: f.Column}.Place()
	a.printf("%s: %s\n", a.onOut(s, oneLine(place)), lead+oneLine(f.Why))
	if f.Hint != "" {
		a.printf("  %s\n", a.onOut(dim, "hint: "+oneLine(f.Hint)))
	}
}

// policyError makes the error of a policy that does not load.
func policyError(err error) error {
	faults, ok := errors.AsType[*policy.Faults](err)
	if !ok || len(faults.All) == 0 {
		return err
	}
	first := faults.All[0]
	f := fail(exitFailed, "the policy does not load: %s", policy.Fault{File: first.File, Line: first.Line, Column: first.Column, Why: first.Why})
	if first.Hint != "" {
		f = f.hint("%s", first.Hint)
	}
	if more := len(faults.All) - 1; more > 0 {
		f = f.hint("%s policy check shows %s", program, count(more, "more fault"))
	}
	return f
}

func policyExplain() command {
	return command{
		name: "explain", args: "QUEUE",
		short:   "say what the policy would say to a letter, and why",
		long:    "Goes through the rules of a queue for one letter, or in general without --id, and says which decided and what would change the decision.",
		example: "redrive-mcp policy explain orders --id 4711\nredrive-mcp policy explain orders --id 4711 --patched",
		setup: func(a *app, f *flag.FlagSet) action {
			a.personFlags(f)
			id := f.String("id", "", "the letter with this `ID`")
			patched := f.Bool("patched", false, "as if a patch had changed it")
			return func(ctx context.Context, args []string) error {
				if *id == "" {
					if *patched {
						return wrongUse("policy explain: --patched needs --id")
					}
					return a.explainQueue(args[0])
				}
				return a.person(ctx, func(p *gate.Person) error {
					text, err := p.Explain(ctx, args[0], *id, *patched)
					if err != nil {
						return err
					}
					a.printf("%s\n", block(text))
					return nil
				})
			}
		},
	}
}

// explainQueue says what holds for a queue whatever the letter. No store is
// asked.
func (a *app) explainQueue(name string) error {
	path, err := a.policyPath()
	if err != nil {
		return err
	}
	p, err := gate.LoadPolicy(a.gateOptions(path))
	if err != nil {
		return policyError(err)
	}
	q, ok := p.Queues[name]
	if !ok {
		return wrongUse("there is no queue %s", quoted(name)).hint("the queues are: %s", strings.Join(slices.Sorted(maps.Keys(p.Queues)), ", "))
	}
	a.printf("%s: %s where no rule matches\n", q.Name, q.Effect)
	for _, r := range q.Rules {
		a.printf("  %s\n", oneLine(r.String()))
	}
	facts := [][2]string{
		{"approval", q.Approval.Who()},
		{"direct limits", q.Limits.String()},
		{"patch may change", patchable(q.Patch)},
	}
	for _, f := range p.Freezes {
		if f.Covers(q.Name) && a.now().Before(f.To) {
			facts = append(facts, [2]string{"freeze", fmt.Sprintf("%s, from %s to %s: direct becomes %s", f.Name, stampIn(f.From), stampIn(f.To), f.Becomes)})
		}
	}
	a.printFacts(facts)
	a.nextf("%s policy explain %s --id ID says it for one letter", program, q.Name)
	return nil
}

// patchable says what a patch may change, "" if nothing.
func patchable(rules policy.PatchRules) string {
	var all []string
	for _, pattern := range rules.Allow {
		if path := pattern.String(); path != "" {
			all = append(all, path)
		} else {
			all = append(all, "the whole document")
		}
	}
	if rules.Replace {
		all = append(all, "the body as a whole")
	}
	return strings.Join(all, ", ")
}

// stampIn is a time in the zone that the policy gives it.
func stampIn(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

func policySchema() command {
	return command{
		name:    "schema",
		short:   "print the JSON Schema of a policy file",
		long:    "Prints the JSON Schema (draft 2020-12) of a policy file, for editors. It is generated from the program itself; the loader finds more than a schema can say.",
		example: "redrive-mcp policy schema > policy.schema.json",
		setup: func(a *app, f *flag.FlagSet) action {
			return func(context.Context, []string) error {
				schema, err := policy.Schema(gate.PolicyKinds(a.Drivers))
				if err != nil {
					return fmt.Errorf("writing the schema: %w", err)
				}
				_, err = a.out.Write(schema)
				return err
			}
		},
	}
}
