package gate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Kinds of changes.
const (
	kindPatch = "patch"
	kindMerge = "merge_patch"
	kindBody  = "replace_body"
)

// change is a proposed patch: data, applied when a message is sent.
type change struct {
	kind  string
	data  []byte
	patch rawjson.Patch // of kindPatch
}

// readChange checks a patch as far as that is possible without a letter.
func readChange(kind string, data []byte) (change, error) {
	ch := change{kind: kind, data: data}
	if len(data) > MaxPatchBytes {
		return ch, refuse(CodeBadArgument, "`%s` has %d bytes; at most %d are taken.", kind, len(data), MaxPatchBytes)
	}
	var err error
	switch kind {
	case kindPatch:
		ch.patch, err = rawjson.ParsePatch(data)
	case kindMerge:
		if err = rawjson.Check(data); err == nil && bytes.TrimSpace(data)[0] != '{' {
			err = errors.New("it must be an object; a list of operations goes into `patch`")
		}
	case kindBody:
		if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
			err = errors.New("a body must be valid UTF-8 without NUL")
		}
	}
	if err != nil {
		return ch, refuse(CodeBadArgument, "`%s` is refused: %s.", kind, err)
	}
	return ch, nil
}

// changed is what a change does to one letter.
type changed struct {
	body    []byte
	paths   []string // what differs, where it may be said
	hidden  []string // hidden paths that are set
	differs bool     // a value that is not hidden really differs
	same    bool     // nothing was changed, as far as may be said
}

// apply makes the new body of one letter and checks it against the policy. The
// error says why it does not apply, in our words.
func (ch change) apply(q *policy.Queue, d *backends.DeadLetter) (changed, error) {
	if !d.Payload.Patchable && ch.kind != kindBody {
		return changed{}, fmt.Errorf("its payload cannot be patched: %s", d.Payload.WhyNot)
	}
	after, err := ch.bytes(q, d.Payload.Bytes)
	if err != nil {
		return changed{}, err
	}
	if len(after) > MaxPayloadBytes {
		return changed{}, fmt.Errorf("the new body would have more than %d bytes", MaxPayloadBytes)
	}
	out := changed{body: after}
	if ch.kind == kindBody {
		out, err = ch.wholeBody(out, d)
	} else {
		out, err = ch.compare(q, out, d)
	}
	if err != nil {
		return changed{}, err
	}
	return out, ch.checkSchema(q, d.Payload.Bytes, after)
}

// compare checks every difference that a patch makes.
func (ch change) compare(q *policy.Queue, out changed, d *backends.DeadLetter) (changed, error) {
	diff, err := rawjson.Diff(d.Payload.Bytes, out.body)
	if err != nil {
		return changed{}, err
	}
	out.hidden = ch.hiddenSets(q)
	for _, c := range diff {
		if isHidden(q, c.Pointer) || within(out.hidden, c.Pointer) {
			continue // said by hiddenSets, whatever the old value was
		}
		if err := allowedChange(q, d.Payload.Bytes, c); err != nil {
			return changed{}, err
		}
		out.paths = append(out.paths, c.Pointer.String())
		out.differs = true
	}
	out.same = !out.differs && len(out.hidden) == 0
	return out, nil
}

// checkSchema checks a new body. Where the policy hides values it checks the
// body as the caller knows it, with its own values in the hidden places that it
// sets and a stand-in in the others, and passes over what the schema says of
// those: so the answer does not depend on any hidden value.
func (ch change) checkSchema(q *policy.Queue, before, after []byte) error {
	if q.Patch.Schema == nil {
		return nil
	}
	if len(q.Redact.Paths) == 0 {
		return schemaErrorOf(q.Patch.Schema.Validate(after))
	}
	masked, _, err := rawjson.Mask(before, q.Redact.Paths, []byte(`"`+hiddenText+`"`))
	if err != nil {
		return err
	}
	known, err := ch.bytes(q, masked)
	if err != nil {
		return err
	}
	set := ch.hiddenSets(q)
	return schemaErrorOf(slices.DeleteFunc(q.Patch.Schema.Validate(known), func(why string) bool {
		path, _, _ := strings.Cut(why, ": ")
		p, err := rawjson.ParsePointer(path)
		return err == nil && underHidden(q, p) && !within(set, p)
	}))
}

// differs reports whether a value that the policy does not hide differs: setting
// a hidden one does not count as mending a letter.
func differs(q *policy.Queue, before, after []byte) bool {
	diff, err := rawjson.Diff(before, after)
	if err != nil {
		return string(before) != string(after)
	}
	return slices.ContainsFunc(diff, func(c rawjson.Change) bool {
		return !underHidden(q, c.Pointer)
	})
}

// schemaError is a body that the policy's schema refuses.
type schemaError struct{ why []string }

func (e schemaError) Error() string {
	return "the new body fails the schema: " + strings.Join(e.why[:min(3, len(e.why))], "; ")
}

func schemaErrorOf(why []string) error {
	if len(why) == 0 {
		return nil
	}
	for i, w := range why {
		// The names in a path are the sender's.
		if path, demand, ok := strings.Cut(w, ": "); ok && strings.HasPrefix(path, "/") {
			why[i] = plainPath(path) + ": " + demand
		}
	}
	return schemaError{why}
}

func (ch change) wholeBody(out changed, d *backends.DeadLetter) (changed, error) {
	if strings.HasPrefix(d.Payload.ContentType, "application/json") {
		if err := rawjson.Check(out.body); err != nil {
			return changed{}, fmt.Errorf("the letter's body is JSON, and the new one is not: %w", err)
		}
		out.differs = !rawjson.Equal(d.Payload.Bytes, out.body)
	} else {
		out.differs = string(d.Payload.Bytes) != string(out.body)
	}
	out.same = !out.differs
	if out.differs {
		out.paths = []string{""}
	}
	return out, nil
}

func (ch change) bytes(q *policy.Queue, before []byte) ([]byte, error) {
	switch ch.kind {
	case kindBody:
		return ch.data, nil
	case kindMerge:
		return rawjson.MergePatch(before, ch.data)
	}
	if err := ch.noOracle(q, before); err != nil {
		return nil, err
	}
	return ch.patch.Apply(before)
}

// hiddenSets are the hidden paths that the change sets, by the change alone.
func (ch change) hiddenSets(q *policy.Queue) (out []string) {
	if ch.kind == kindMerge {
		for p := range rawjson.Leaves(ch.data) {
			if isHidden(q, p) {
				out = append(out, p.String())
			}
		}
		return out
	}
	for _, op := range ch.patch.Operations() {
		if setsHidden(q, op) {
			out = append(out, op.Path.String())
		}
	}
	return out
}

func within(paths []string, p rawjson.Pointer) bool {
	return slices.ContainsFunc(paths, func(s string) bool {
		q, err := rawjson.ParsePointer(s)
		return err == nil && p.HasPrefix(q)
	})
}
