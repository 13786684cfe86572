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
	for _, path := range ch.hiddenSets(q) {
		p, err := rawjson.ParsePointer(path)
		if err != nil || !slices.ContainsFunc(q.Patch.Allow, func(pat rawjson.Pattern) bool { return pat.Covers(p) }) {
			return refuse(CodePolicy, "The policy of %s allows no change of %s. %s", q.Name, quote(path), mayPatch(q))
		}
	}
	if ch.kind == kindMerge {
		return ch.mergeHidden(q)
	}
	for i, op := range ch.patch.Operations() {
		if touchesHidden(q, op.Path) && !setsHidden(q, op) || hasFrom(op) && touchesHidden(q, op.From) {
			return refuse(CodePolicy, "Operation %d touches a value that the policy hides. Only add or replace of exactly that path is taken; its old value stays hidden.", i)
		}
	}
	return nil
}

func hasFrom(op rawjson.Operation) bool { return op.Op == "move" || op.Op == "copy" }

func touchesHidden(q *policy.Queue, p rawjson.Pointer) bool {
	return slices.ContainsFunc(q.Redact.Paths, func(pat rawjson.Pattern) bool { return pat.Related(p) })
}

func isHidden(q *policy.Queue, p rawjson.Pointer) bool {
	return slices.ContainsFunc(q.Redact.Paths, func(pat rawjson.Pattern) bool { return pat.Match(p) })
}

func setsHidden(q *policy.Queue, op rawjson.Operation) bool {
	return (op.Op == rawjson.OpAdd || op.Op == rawjson.OpReplace) && isHidden(q, op.Path)
}

// mergeHidden does for a merge patch what allowedBy does for operations: what it
// sets at a hidden path must be one value for exactly that path.
func (ch change) mergeHidden(q *policy.Queue) error {
	for p, v := range rawjson.Leaves(ch.data) {
		if touchesHidden(q, p) && (!isHidden(q, p) || string(v) == "null") {
			return refuse(CodePolicy, "The merge patch touches a value that the policy hides at %s. Only a new value for exactly the hidden path is taken.", quote(p.String()))
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
