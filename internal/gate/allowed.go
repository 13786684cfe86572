package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
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
	sets := map[string]bool{}
	for _, path := range ch.hiddenSets(q) {
		p, err := rawjson.ParsePointer(path)
		if err != nil || !slices.ContainsFunc(q.Patch.Allow, func(pat rawjson.Pattern) bool { return pat.Covers(p) }) {
			return refuse(CodePolicy, "The policy of %s allows no change of %s. %s", q.Name, quote(path), mayPatch(q))
		}
		sets[path] = true
	}
	for _, p := range ch.touched() {
		if touchesHidden(q, p) && !sets[p.String()] {
			return refuse(CodePolicy, "The patch touches a value that the policy hides, at %s. Only a new value for exactly the hidden member is taken; its old value stays hidden.", quote(p.String()))
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

// touched are all places that a change names: it looks at or changes nothing but
// these, what is below them, and, for elements, their siblings.
func (ch change) touched() (out []rawjson.Pointer) {
	if ch.kind == kindMerge {
		for p := range merged(ch.data) {
			out = append(out, p)
		}
		return out
	}
	for _, op := range ch.patch.Operations() {
		out = append(out, op.Path)
		if op.Op == "move" || op.Op == "copy" {
			out = append(out, op.From)
		}
	}
	return out
}

// merged yields the places that a merge patch sets, with what it sets there: an
// object is merged member by member, all else, an empty object too, is set as a
// whole.
func merged(data []byte) iter.Seq2[rawjson.Pointer, any] {
	return func(yield func(rawjson.Pointer, any) bool) {
		var doc any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if dec.Decode(&doc) == nil {
			mergedAt(rawjson.Pointer{}, doc, yield)
		}
	}
}

func mergedAt(p rawjson.Pointer, v any, yield func(rawjson.Pointer, any) bool) bool {
	members, ok := v.(map[string]any)
	if !ok || len(members) == 0 {
		return yield(p, v)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !mergedAt(p.Child(name), members[name], yield) {
			return false
		}
	}
	return true
}

// clearOf refuses a change that touches a place which is hidden for what it
// holds. What a change does not touch it cannot compare, copy or move, so that
// nothing it answers depends on such a value.
func (ch change) clearOf(s shadow) error {
	for _, p := range ch.touched() {
		near := []rawjson.Pointer{p}
		if mayBeIndex(p) {
			near = append(near, p.Parent())
		}
		for _, n := range near {
			if slices.ContainsFunc(s.veils, func(veil rawjson.Pattern) bool { return veil.Related(n) }) {
				return fmt.Errorf("it touches %s, where a value is hidden", quote(p.String()))
			}
		}
	}
	return nil
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
