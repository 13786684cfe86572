package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// allowedBy refuses what no letter could make right: operations on hidden paths,
// and whole bodies where they are not allowed. It looks at the change alone, so
// that its answer tells nothing about a hidden value.
func (ch change) allowedBy(q *policy.Queue) error {
	if ch.kind == kindBody {
		if !q.Patch.Replace || len(q.Redact.Paths) > 0 {
			return refuse(CodePolicy, "The policy of %s allows no new body. %s", q.Name, mayPatch(q))
		}
		return nil
	}
	if len(q.Patch.Allow) == 0 {
		return refuse(CodePolicy, "The policy of %s allows no patch. Leave the letter for a person.", q.Name)
	}
	for _, t := range ch.touched() {
		if err := t.allowedBy(q); err != nil {
			return err
		}
	}
	return nil
}

func touchesHidden(q *policy.Queue, p rawjson.Pointer) bool {
	return slices.ContainsFunc(q.Redact.Paths, func(pat rawjson.Pattern) bool { return pat.Related(p) })
}

func isHidden(q *policy.Queue, p rawjson.Pointer) bool {
	return slices.ContainsFunc(q.Redact.Paths, func(pat rawjson.Pattern) bool { return pat.Match(p) })
}

// mayBeIndex reports whether a token may name an element of an array, where
// adding moves the others.
func mayBeIndex(p rawjson.Pointer) bool {
	tokens := p.Tokens()
	if len(tokens) == 0 {
		return false
	}
	last := tokens[len(tokens)-1]
	return last == "-" || strings.Trim(last, "0123456789") == ""
}

// touch is one place that a change names, and what it does there.
type touch struct {
	at     rawjson.Pointer
	sets   bool // a whole value is put there, whatever stood there before
	shifts bool // in a list, what stands behind it moves
}

// allowedBy refuses to do anything with a hidden value but to set another one in
// its place, by one step of its own: a step that looks at it, moves or copies it
// is refused whatever the other steps do.
func (t touch) allowedBy(q *policy.Queue) error {
	switch hidden := touchesHidden(q, t.at); {
	case hidden && t.sets && isHidden(q, t.at):
		if !slices.ContainsFunc(q.Patch.Allow, func(pat rawjson.Pattern) bool { return pat.Covers(t.at) }) {
			return refuse(CodePolicy, "The policy of %s allows no change of %s. %s", q.Name, quote(t.at.String()), mayPatch(q))
		}
		return nil
	case hidden:
		return refuse(CodePolicy, "The patch touches a value that the policy hides, at %s. Only a new value for exactly the hidden member is taken; its old value stays hidden.", quote(t.at.String()))
	case t.shifts && mayBeIndex(t.at) && touchesHidden(q, t.at.Parent()):
		return refuse(CodePolicy, "The patch may move a value that the policy hides, by what it does at %s.", quote(t.at.String()))
	}
	return nil
}

// touched are all places that a change names: it looks at or changes nothing but
// these, what is below them, and, where it shifts, what stands behind them.
func (ch change) touched() (out []touch) {
	if ch.kind == kindMerge {
		for p, v := range rawjson.MergePlaces(ch.data) {
			out = append(out, touch{at: p, sets: v[0] != 'n' && v[0] != '{' && v[0] != '['})
		}
		return out
	}
	for _, op := range ch.patch.Operations() {
		t := touch{at: op.Path, shifts: op.Op != "replace" && op.Op != "test"}
		switch op.Op {
		case "add":
			t.sets = !mayBeIndex(op.Path)
		case "replace":
			t.sets = true
		case "move":
			out = append(out, touch{at: op.From, shifts: true})
		case "copy":
			out = append(out, touch{at: op.From})
		}
		out = append(out, t)
	}
	return out
}

// clearOf refuses a change that touches a place which is hidden for what it
// holds. What a change does not touch it cannot compare, copy or move, so that
// nothing it answers depends on such a value.
func (ch change) clearOf(s shadow) error {
	for _, t := range ch.touched() {
		near := t.at
		if t.shifts && mayBeIndex(near) {
			near = near.Parent()
		}
		if slices.ContainsFunc(s.veils, func(veil rawjson.Pattern) bool { return veil.Related(near) }) {
			return fmt.Errorf("it touches %s, where a value is hidden", quote(t.at.String()))
		}
	}
	return nil
}

// takesHidden reports whether a difference takes a hidden value away or puts
// another one there: what is hidden must be set by name, or stay. Inserting
// moves nothing of it, because no change may shift what is hidden.
func takesHidden(q *policy.Queue, s shadow, c rawjson.Change) bool {
	hides := func(pats []rawjson.Pattern) bool {
		return slices.ContainsFunc(pats, func(pat rawjson.Pattern) bool {
			if pat.Covers(c.Pointer) {
				return true
			}
			if c.Op == rawjson.OpAdd || !pat.Related(c.Pointer) {
				return false
			}
			hits, err := rawjson.Find(s.doc, pat)
			return err != nil || slices.ContainsFunc(hits, func(h rawjson.Hit) bool { return h.Pointer.HasPrefix(c.Pointer) })
		})
	}
	return hides(q.Redact.Paths) || hides(s.veils)
}

func underHidden(q *policy.Queue, p rawjson.Pointer) bool {
	return slices.ContainsFunc(q.Redact.Paths, func(pat rawjson.Pattern) bool { return pat.Covers(p) })
}

// allowedChange checks one difference against the allow-list.
func allowedChange(q *policy.Queue, before []byte, c rawjson.Change) error {
	ps := []rawjson.Pointer{c.Pointer}
	if parent := c.Pointer.Parent(); c.Op != rawjson.OpReplace && isArray(before, parent) {
		// The elements behind move too, so any index must be allowed.
		ps = []rawjson.Pointer{parent.Child("0"), parent.Child("999999999")}
		if touchesHidden(q, parent) {
			return fmt.Errorf("it moves elements of %s, where the policy hides a value", quote(parent.String()))
		}
	}
	for _, p := range ps {
		if !slices.ContainsFunc(q.Patch.Allow, func(pat rawjson.Pattern) bool { return pat.Covers(p) }) {
			return fmt.Errorf("it changes %s, and the policy allows %s", quote(c.Pointer.String()), allowList(q))
		}
	}
	return nil
}

func isArray(doc []byte, p rawjson.Pointer) bool {
	v, ok, err := rawjson.Get(doc, p)
	return err == nil && ok && len(v) > 0 && v[0] == '['
}

func allowList(q *policy.Queue) string {
	names := make([]string, len(q.Patch.Allow))
	for i, p := range q.Patch.Allow {
		names[i] = p.String()
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func mayPatch(q *policy.Queue) string {
	if len(q.Patch.Allow) == 0 {
		return "Leave the letter for a person."
	}
	return "A patch may change " + allowList(q) + "."
}
