package gate

import (
	"errors"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// shadow is a body as a caller knows it: strict JSON of the same structure, with
// a stand-in for each value that is hidden in whole or in part. All that a
// caller is told about a patch is told about the shadow, so that no answer can
// depend on a hidden value.
type shadow struct {
	doc   []byte
	veils []rawjson.Pattern // places hidden for what they hold, not for where they are
}

// veiled reports whether a place is hidden for what it holds.
func (s shadow) veiled(p rawjson.Pointer) bool {
	return slices.ContainsFunc(s.veils, func(veil rawjson.Pattern) bool { return veil.Match(p) })
}

// maxVeiled bounds how many such places one body may have.
const maxVeiled = 1000

// Bodies in which hiding and patching cannot go together are refused.
var (
	errVeiled  = errors.New("its payload cannot be patched: too many values in it are hidden")
	errName    = errors.New("its payload cannot be patched: something is hidden in it that is not a value of its own")
	errRepeats = errors.New("a hidden value cannot be set in it: something else is hidden in it for what it holds, which may be the old value, and would be shown once the place of that no longer tells so")
	errStrict  = errors.New("its payload cannot be patched: it is not strict JSON")
)

// shadowOf makes the shadow of a body. Where nothing is to be hidden it is the
// body itself.
func shadowOf(q *policy.Queue, raw []byte) (shadow, error) {
	r := redactor{Redaction: q.Redact}
	if !r.needsBody() {
		return shadow{doc: raw}, nil
	}
	if rawjson.Check(raw) != nil {
		return shadow{}, errStrict // where it is wrong would tell how long hidden values are
	}
	v, err := r.veil(raw)
	if err != nil {
		return shadow{}, errors.New("its payload cannot be patched: " + err.Error())
	}
	r.values = v.values
	s := shadow{veils: v.wrapped}
	for p, leaf := range rawjson.Leaves(v.doc) {
		text := rawjson.Text(leaf)
		if isHidden(q, p) || !r.hides(text) {
			continue
		}
		if len(s.veils) == maxVeiled {
			return shadow{}, errVeiled
		}
		// Beside a member that is really named * its siblings are veiled too.
		place, err := rawjson.ParsePattern(p.String())
		if err != nil {
			return shadow{}, err
		}
		s.veils = append(s.veils, place)
	}
	if s.doc, _, err = rawjson.Mask(v.doc, s.veils, []byte(standIn)); err != nil {
		return shadow{}, errStrict
	}
	// What is still to be hidden is a name, or reaches from one value into
	// another: there is no stand-in for that.
	if r.namesHide(s.doc) || len(r.across(string(s.doc))) > 0 {
		return shadow{}, errName
	}
	return s, nil
}

func (r redactor) namesHide(doc []byte) bool {
	for t := range rawjson.Tokens(doc) {
		if t.Name && r.hides(rawjson.Text(doc[t.From:t.To])) {
			return true
		}
	}
	return false
}

// judged is what a patch does to a letter, as far as the policy may count it.
type judged struct {
	mends bool // a value that is not hidden differs
	sets  bool // a hidden value is, or may be, another one
}

// judge says of a letter of a plan, which has no patch any more, what was said
// of the patch when it was planned. Whether a hidden value really differs must
// not show here either.
func judge(q *policy.Queue, doc *plan.Plan, d *backends.DeadLetter, after []byte) (j judged) {
	if after == nil {
		return j
	}
	if doc.Body {
		out, _ := change{kind: kindBody, data: after}.wholeBody(q, d) // what was approved is not refused here
		return out.judged
	}
	j.sets = slices.ContainsFunc(doc.Patch, func(path string) bool {
		p, err := rawjson.ParsePointer(path)
		return err != nil || isHidden(q, p)
	})
	s, err := shadowOf(q, d.Payload.Bytes)
	if err != nil {
		return judged{sets: true}
	}
	diff, err := rawjson.Diff(d.Payload.Bytes, after)
	if err != nil {
		return judged{sets: true}
	}
	for _, c := range diff {
		if underHidden(q, c.Pointer) || s.veiled(c.Pointer) {
			j.sets = true
		} else {
			j.mends = true
		}
	}
	return j
}
