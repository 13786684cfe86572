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

// changed is what a change does to one letter. All but body is about the letter
// as the caller knows it.
type changed struct {
	body          []byte // what would be sent
	before, after []byte // the shadow, unpatched and patched
	paths         []string
	hidden        []string // hidden paths that are set
	judged
}

// same reports that nothing is changed, as far as may be said.
func (c changed) same() bool { return len(c.paths) == 0 && len(c.hidden) == 0 }

// apply makes the new body of one letter and checks it against the policy. The
// error says why it does not apply, in our words and the caller's own.
func (ch change) apply(q *policy.Queue, d *backends.DeadLetter) (changed, error) {
	if ch.kind == kindBody {
		return ch.wholeBody(q, d)
	}
	if !d.Payload.Patchable {
		return changed{}, fmt.Errorf("its payload cannot be patched: %s", d.Payload.WhyNot)
	}
	known, err := shadowOf(q, d.Payload.Bytes)
	if err != nil {
		return changed{}, err
	}
	out, err := ch.compare(q, known)
	if err != nil {
		return changed{}, err
	}
	if out.body, err = ch.really(q, d.Payload.Bytes, known); err != nil {
		return changed{}, err
	}
	if len(out.after) > MaxPayloadBytes { // the shadow's size: the body's would tell of hidden values
		return changed{}, fmt.Errorf("the new body would have more than %d bytes", MaxPayloadBytes)
	}
	return out, ch.checkSchema(q, known, out.after)
}

// compare applies the change to the letter as it is known, and checks every
// difference.
func (ch change) compare(q *policy.Queue, known shadow) (out changed, err error) {
	if err := ch.clearOf(known); err != nil {
		return out, err
	}
	out.before, out.hidden = known.doc, ch.hiddenSets(q)
	if out.sets = len(out.hidden) > 0; out.sets && len(known.veils) > 0 {
		return out, errRepeats
	}
	if out.after, err = ch.on(known.doc); err != nil {
		return out, err
	}
	diff, err := rawjson.Diff(known.doc, out.after)
	if err != nil {
		return out, err
	}
	for _, c := range diff {
		if within(out.hidden, c.Pointer) {
			continue // said by hiddenSets, whatever the old value was
		}
		if err := allowedChange(q, known.doc, c); err != nil {
			return out, err
		}
		if takesHidden(q, known, c) {
			return out, fmt.Errorf("it takes away or moves a value that is hidden, at %s", quote(c.Pointer.String()))
		}
		out.paths = append(out.paths, c.Pointer.String())
		out.mends = true
	}
	return out, nil
}

// really applies the change to the body itself. What fits the shadow and not the
// body has mistaken a stand-in for a value; that is all the error says.
func (ch change) really(q *policy.Queue, raw []byte, known shadow) ([]byte, error) {
	if len(known.veils) == 0 && len(q.Redact.Paths) == 0 {
		return ch.on(raw)
	}
	mistaken := errors.New("it takes a stand-in for a hidden value to be the value")
	after, err := ch.on(raw)
	if err != nil {
		return nil, mistaken
	}
	diff, err := rawjson.Diff(raw, after)
	if err != nil {
		return nil, err
	}
	set := ch.hiddenSets(q)
	for _, c := range diff {
		if !within(set, c.Pointer) && allowedChange(q, raw, c) != nil {
			return nil, mistaken
		}
	}
	return after, nil
}

// checkSchema checks the new body as the caller knows it, with its own values in
// the hidden places that it sets, and passes over what the schema says of the
// stand-ins in others.
func (ch change) checkSchema(q *policy.Queue, known shadow, after []byte) error {
	if q.Patch.Schema == nil {
		return nil
	}
	set := ch.hiddenSets(q)
	fails := slices.DeleteFunc(q.Patch.Schema.Validate(after), func(f policy.Failure) bool {
		return (underHidden(q, f.At) || known.veiled(f.At)) && !within(set, f.At)
	})
	if len(fails) == 0 {
		return nil
	}
	return schemaError{fails}
}

// schemaError is a body that the policy's schema refuses.
type schemaError struct{ fails []policy.Failure }

func (e schemaError) Error() string {
	var whys []string
	for _, f := range e.fails[:min(3, len(e.fails))] {
		why := f.String()
		if p := f.At.String(); !f.At.IsRoot() { // the names in a path are the sender's
			why = plainPath(p) + ": " + f.Demand
		}
		whys = append(whys, why)
	}
	return "the new body fails the schema: " + strings.Join(whys, "; ")
}

// wholeBody takes a new body. Where something of the old one is hidden, or two
// readers may understand it differently, it counts as what may be another one,
// whatever it is. The policy can call JSON text, so what can be compared as
// values is.
func (ch change) wholeBody(q *policy.Queue, d *backends.DeadLetter) (out changed, err error) {
	raw := d.Payload.Bytes
	old, _ := redactor{Redaction: q.Redact}.body(raw) // as every look shows it
	out = changed{body: ch.data, before: old.data, after: ch.data}
	isJSON := strings.HasPrefix(d.Payload.ContentType, "application/json")
	if err := rawjson.Check(ch.data); isJSON && err != nil {
		return changed{}, fmt.Errorf("the letter's body is JSON, and the new one is not: %w", err)
	}
	switch {
	case !bytes.Equal(old.data, raw), isJSON && rawjson.Check(raw) != nil:
		out.sets, out.paths = true, []string{""}
	case !bytes.Equal(raw, ch.data) && !rawjson.Equal(raw, ch.data):
		out.mends, out.paths = true, []string{""}
	}
	return out, ch.checkSchema(q, shadow{}, ch.data)
}

// on applies the change to a document. What comes out equal keeps its bytes: a
// number spelled another way or members in another order would be a change that
// no diff shows and no allow-list names.
func (ch change) on(doc []byte) (after []byte, err error) {
	if ch.kind == kindMerge {
		after, err = rawjson.MergePatch(doc, ch.data)
	} else {
		after, err = ch.patch.Apply(doc)
	}
	if err != nil {
		return nil, err
	}
	return rawjson.Keep(doc, after)
}

// hiddenSets are the hidden members that the change sets to a value, by the
// change alone. An element that is added to an array is none: it moves the others.
func (ch change) hiddenSets(q *policy.Queue) (out []string) {
	for _, t := range ch.touched() {
		if t.sets && isHidden(q, t.at) {
			out = append(out, t.at.String())
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
