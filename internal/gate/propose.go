package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// patchTTL is how long a proposed patch can be named in a request.
const patchTTL = 24 * time.Hour

// maxWhy is how many letters a result names one by one.
const maxWhy = 10

func (s *session) proposePatch(ctx context.Context, args PatchArgs) (*PatchResult, error) {
	ch, sel, err := args.check()
	if err != nil {
		return nil, s.refusedArgs(ctx, "propose_patch", args.Queue, err)
	}
	c, err := s.begin(ctx, "propose_patch", args.Queue, append(sel.args(), audit.Arg{Key: "kind", Value: ch.kind}, audit.Arg{Key: "bytes", Value: len(ch.data)}, audit.Arg{Key: "note", Value: words(args.Note)})...)
	if err != nil {
		return nil, err
	}
	res, err := c.propose(ctx, args, ch, sel)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (a PatchArgs) check() (ch change, sel choice, err error) {
	if sel, err = checkChoice(a.Queue, a.ID, a.IDs, a.Group, a.AsOf, a.MaxMessages); err != nil {
		return ch, sel, err
	}
	if err = checkText("note", a.Note, false); err != nil {
		return ch, sel, err
	}
	if _, err = format(a.ResponseFormat); err != nil {
		return ch, sel, err
	}
	given := 0
	kind, data := "", []byte(nil)
	for k, d := range map[string][]byte{kindPatch: a.Patch, kindMerge: a.MergePatch} {
		if len(d) > 0 {
			kind, data = k, d
			given++
		}
	}
	if a.ReplaceBody != nil {
		kind, data = kindBody, []byte(*a.ReplaceBody)
		given++
	}
	if given != 1 {
		return ch, sel, refuse(CodeBadArgument, "Give exactly one of `patch`, `merge_patch` and `replace_body`.")
	}
	ch, err = readChange(kind, data)
	return ch, sel, err
}

// trial is a change tried on letters.
type trial struct {
	res   *PatchResult
	paths map[string]bool
	decs  map[policy.Effect]int
	text  strings.Builder
	shown int
	diffs int // how many letters' diffs are shown
}

func (c *call) propose(ctx context.Context, args PatchArgs, ch change, sel choice) (*PatchResult, error) {
	t, err := c.open(ctx, args.Queue)
	if err != nil {
		return nil, err
	}
	if err := ch.allowedBy(t.q); err != nil {
		return nil, err
	}
	if sel.max > t.q.Approval.MaxMessages {
		return nil, refuse(CodeLimit, "`max_messages` of %s is at most %d, got %d.", args.Queue, t.q.Approval.MaxMessages, sel.max)
	}
	if _, err := c.resolve(ctx, t, &sel, sel.max); err != nil {
		return nil, err
	}
	tr := &trial{res: &PatchResult{Queue: args.Queue, Paths: []string{}}, paths: map[string]bool{}, decs: map[policy.Effect]int{}, diffs: 1}
	if args.ResponseFormat == Detailed {
		tr.diffs = 5
	}
	if err := c.try(ctx, t, ch, sel, tr); err != nil {
		return nil, err
	}
	return tr.res, c.keepPatch(ctx, t, args, ch, tr)
}

func (c *call) try(ctx context.Context, t *target, ch change, sel choice, tr *trial) error {
	k, err := c.learn(ctx, t, sel.ids, sel.groups()...)
	if err != nil {
		return err
	}
	return c.fetch(ctx, t, sel.ids, func(d *backends.DeadLetter) error {
		v := t.look(c.pol, d, false)
		out, err := ch.apply(t.q, d)
		switch {
		case v.body.withheld != "":
			tr.fails(d.ID, "its payload is withheld: "+v.body.withheld)
		case err != nil:
			tr.fails(d.ID, t.say(err))
			if _, bad := errors.AsType[schemaError](err); bad {
				tr.res.Schema = "fails"
			}
		case out.same():
			tr.res.Same++
		default:
			tr.applies(t, d, out)
			tr.decs[t.q.Decide(k.facts(c, d, &v, out.judged)).Effect]++
		}
		return nil
	}, func(id string) { tr.fails(id, backends.Gone.Sentence()) })
}

func (tr *trial) fails(id, why string) {
	tr.res.Fails++
	tr.res.Why = addWhy(tr.res.Why, id, why)
}

func (tr *trial) applies(t *target, d *backends.DeadLetter, out changed) {
	tr.res.Applies++
	for _, p := range out.paths {
		tr.paths[t.path(p)] = true
	}
	for _, p := range out.hidden {
		p = t.path(p)
		if !slices.Contains(tr.res.Hidden, p) {
			tr.res.Hidden = append(tr.res.Hidden, p)
		}
	}
	if tr.shown < tr.diffs {
		tr.shown++
		tr.text.WriteString(briefDiffs(redactor{Redaction: t.q.Redact}).text(d.ID, out))
	}
}

// say is an error about one letter. It speaks of the letter as the caller knows
// it and of the caller's own words, in which no value of a letter may be masked:
// that would confirm a guess.
func (t *target) say(err error) string { return redactor{Redaction: t.q.Redact}.text(err.Error()) }

// path is a pointer as it may stand in a list. The names in it can be the
// sender's words, so one that reads like anything but a path is quoted.
func (t *target) path(p string) string { return plainPath(redactor{Redaction: t.q.Redact}.text(p)) }

func plainPath(p string) string {
	for i := range len(p) {
		if c := p[i]; c <= ' ' || c > '~' || i > 120 {
			return quote(p)
		}
	}
	return p
}

// keepPatch stores a patch that applies somewhere and finishes the answer.
func (c *call) keepPatch(ctx context.Context, t *target, args PatchArgs, ch change, tr *trial) error {
	res := tr.res
	for p := range tr.paths {
		res.Paths = append(res.Paths, p)
	}
	slices.Sort(res.Paths)
	res.Text = fence(strings.TrimSuffix(tr.text.String(), "\n"))
	if t.q.Patch.Schema != nil && res.Schema == "" && res.Applies > 0 {
		res.Schema = "passes"
	}
	res.Decision = effects(tr.decs)
	if res.Applies == 0 {
		res.Next = "It applies to no letter; see `why`, inspect one letter again and propose another patch."
		if res.Same > 0 {
			res.Next = "It changes nothing in the letters, so a redrive would fail again. Propose a patch that does."
		}
		return nil
	}
	now, _ := c.st.ledger.Now()
	p := ledger.Patch{ID: ledger.NewID("p"), Queue: t.q.Name, Kind: ch.kind, Data: ch.data, Note: c.clean(args.Note),
		Principal: c.caller.Kind + " " + c.caller.Principal, Created: now, Expires: now.Add(patchTTL)}
	if err := c.st.ledger.PutPatch(ctx, p); err != nil {
		return err
	}
	res.PatchID, res.Expires = p.ID, stamp(p.Expires)
	res.Next = "Nothing is changed yet. Call request_redrive with this patch_id and the same letters."
	if tr.decs[policy.Never] == res.Applies {
		res.Next = "The policy forbids a redrive of these letters even with this patch. Leave them for a person."
	}
	return nil
}

// effects says what the policy would say, with counts.
func effects(decs map[policy.Effect]int) string {
	var parts []string
	for _, e := range []policy.Effect{policy.Direct, policy.EffectApproval, policy.Never} {
		if decs[e] > 0 {
			parts = append(parts, fmt.Sprintf("%s for %d", e, decs[e]))
		}
	}
	if len(parts) == 0 {
		return "nothing to decide"
	}
	return strings.Join(parts, ", ")
}
