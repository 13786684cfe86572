package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

func redriveCommand() command {
	return command{
		name: "redrive", args: "QUEUE", part: partAct,
		short: "ask for a redrive yourself, through the same gate",
		long: "Asks for a redrive as a person. The same policy holds as for an agent: it is refused, run at once, or left " +
			"for approval. Letters are named by id or by error group; a group needs the listing's as-of time and a maximum, " +
			"so that nothing that arrived later is in it. A patch comes from a file (- is standard input).",
		example: "redrive-mcp redrive orders --ids 4711,4712 --reason 'the bank answers again' --dry-run\n" +
			"redrive-mcp redrive orders --group 28d2efae1ef9 --as-of 2026-12-01T03:00:00Z --max 200 --reason 'rate limit lifted' --fix OPS-88\n" +
			"redrive-mcp redrive orders --id 4711 --merge-patch currency.json --reason 'currency was missing'",
		setup: setupRedrive,
	}
}

// redriveFlags are the flags of redrive.
type redriveFlags struct {
	gate.RedriveArgs
	ids          string
	patch, merge string
	body         string
	fix          gate.Fix
}

func setupRedrive(a *app, f *flag.FlagSet) action {
	var r redriveFlags
	a.personFlags(f)
	a.jsonFlag(f)
	f.StringVar(&r.ID, "id", "", "one letter, by its `ID`")
	f.StringVar(&r.ids, "ids", "", "several letters, `A,B`; a composite id is a JSON array, as letters prints it")
	f.StringVar(&r.Group, "group", "", "all letters of error group `G`")
	f.StringVar(&r.AsOf, "as-of", "", "with --group: only what was dead at `T`")
	f.IntVar(&r.MaxMessages, "max", 0, "with --group: at most `N` letters")
	f.StringVar(&r.patch, "patch", "", "apply the JSON Patch (RFC 6902) in `FILE`")
	f.StringVar(&r.merge, "merge-patch", "", "apply the JSON Merge Patch (RFC 7396) in `FILE`")
	f.StringVar(&r.body, "body", "", "send the body in `FILE` instead")
	f.StringVar(&r.Reason, "reason", "", "why, in your own `WORDS`; needed")
	f.StringVar(&r.fix.Ref, "fix", "", "what was mended: a ticket or a commit, `REF`")
	f.StringVar(&r.fix.At, "fix-at", "", "when it was mended, `T`")
	f.BoolVar(&r.DryRun, "dry-run", false, "say what would happen, and send nothing")
	f.StringVar(&r.Replace, "replace", "", "supersede your own pending request `ID`")
	return func(ctx context.Context, args []string) error {
		r.Queue = args[0]
		if err := r.check(); err != nil {
			return err
		}
		return a.redrive(ctx, r)
	}
}

func (r *redriveFlags) check() error {
	chosen := set(r.ID) + set(r.ids) + set(r.Group)
	switch {
	case chosen != 1:
		return wrongUse("redrive: exactly one of --id, --ids and --group is needed").hint("%s letters %s --groups lists them", program, oneLine(r.Queue))
	case r.Group != "" && (r.AsOf == "" || r.MaxMessages == 0):
		return wrongUse("redrive: --group needs --as-of and --max").hint("the listing's last line says as of when it is")
	case set(r.patch)+set(r.merge)+set(r.body) > 1:
		return wrongUse("redrive: --patch, --merge-patch and --body exclude each other")
	case r.Reason == "":
		return wrongUse("redrive: --reason is missing").hint("say why a redrive will succeed now; the approver and the audit log read it")
	case r.fix.Ref == "" && r.fix.At != "":
		return wrongUse("redrive: --fix-at needs --fix")
	}
	if r.ids != "" {
		r.IDs = splitIDs(r.ids)
	}
	if r.fix.Ref != "" {
		r.Fix = &r.fix
	}
	return nil
}

func set(s string) int {
	if s == "" {
		return 0
	}
	return 1
}

// personWait is how long a person's own direct redrive is waited for: a person
// has Ctrl-C.
const personWait = 24 * time.Hour

func (a *app) redrive(ctx context.Context, r redriveFlags) error {
	path, err := a.policyPath()
	if err != nil {
		return err
	}
	o := a.gateOptions(path)
	o.DirectWait = personWait
	return a.personWith(ctx, o, func(p *gate.Person) error {
		if err := a.patch(ctx, p, &r); err != nil {
			return err
		}
		result, err := p.RequestRedrive(ctx, r.RedriveArgs)
		if err != nil {
			return err
		}
		return a.printResult(ctx, *result)
	})
}

// patch tries the patch of the flags and puts its id into the request.
func (a *app) patch(ctx context.Context, p *gate.Person, r *redriveFlags) error {
	args := gate.PatchArgs{
		Queue: r.Queue, ID: r.ID, IDs: r.IDs, Group: r.Group, AsOf: r.AsOf, MaxMessages: r.MaxMessages,
		ResponseFormat: gate.Detailed,
	}
	var err error
	switch {
	case r.patch != "":
		args.Patch, err = a.file(r.patch)
	case r.merge != "":
		args.MergePatch, err = a.file(r.merge)
	case r.body != "":
		var body []byte
		body, err = a.file(r.body)
		text := string(body)
		args.ReplaceBody = &text
	default:
		return nil
	}
	if err != nil {
		return err
	}
	result, err := p.ProposePatch(ctx, args)
	if err != nil {
		return err
	}
	if !a.json {
		a.printPatch(result)
	}
	if result.PatchID == "" {
		code := exitFailed
		if forbidden(result) {
			code = exitRefused
		}
		return fail(code, "the patch applies to none of the letters")
	}
	r.PatchID = result.PatchID
	return nil
}

// forbidden says whether it is the policy that keeps a patch from applying.
func forbidden(r *gate.PatchResult) bool {
	for _, w := range r.Why {
		if !strings.Contains(w.Why, "the policy allows ") && !strings.Contains(w.Why, "the policy hides ") {
			return false
		}
	}
	return len(r.Why) > 0
}

func (a *app) printPatch(r *gate.PatchResult) {
	a.printFacts([][2]string{
		{"patch", r.PatchID},
		{"applies to", count(r.Applies, "letter")},
		{"changes nothing", some(r.Same)},
		{"does not apply", some(r.Fails)},
		{"changes", strings.Join(r.Paths, ", ")},
		{"old value hidden", strings.Join(r.Hidden, ", ")},
		{"schema", r.Schema},
		{"policy", r.Decision},
	})
	for _, w := range r.Why {
		a.printf("  %s: %s\n", oneLine(w.ID), oneLine(w.Why))
	}
	if r.Applies > 0 && r.Text != "" {
		a.printf("\n%s\n\n", block(r.Text))
	}
}

// file reads a small file; "-" is standard input.
func (a *app) file(name string) ([]byte, error) {
	in := io.Reader(a.in)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading the patch: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, gate.MaxPatchBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	if len(data) > gate.MaxPatchBytes {
		return nil, wrongUse("redrive: %s is larger than %d bytes", oneLine(name), gate.MaxPatchBytes)
	}
	return data, nil
}
