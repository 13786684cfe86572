package gate

import (
	"bytes"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// shownBody is a body as a caller may see it.
type shownBody struct {
	data     []byte
	hidden   [][]byte // the values that were hidden in it by place
	places   int      // how many places are hidden
	withheld string   // why nothing of it is shown
}

// body hides paths, the same values elsewhere in the body, and patterns, and
// returns a redactor that knows the values. A body that is no strict JSON is
// withheld whole where paths are hidden: two readers may find different values
// at one path.
func (r redactor) body(raw []byte) (shownBody, redactor) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return shownBody{data: raw}, r
	}
	v, err := r.veil(raw)
	if err != nil {
		return shownBody{withheld: err.Error()}, r
	}
	r.values = v.values
	return shownBody{data: []byte(r.json(v.doc)), hidden: v.hidden, places: v.places}, r
}

// text is another text of the same letter. Where the body is withheld any word
// of it may be a hidden value, so nothing is shown that may repeat it.
func (b shownBody) text(r redactor, s string) string {
	if b.withheld != "" && s != "" {
		return hiddenText
	}
	return r.text(s)
}

// seen is a letter as a caller may see it.
type seen struct {
	body    shownBody
	message string
	code    string
	stack   string
	job     string
	attrs   []shownAttr
	size    int
	group   string // fingerprint
	label   string
	class   string
	shown   string // the policy's code for the class
}

type shownAttr struct{ name, value string }

// needsBody reports whether a listing must read bodies: to find in them what is
// to be hidden, or because the shape of the payload is all that tells groups
// apart.
func (t *target) needsBody() bool {
	return redactor{Redaction: t.q.Redact}.needsBody() || !t.can.Reasons
}

// look makes a letter fit to be shown.
func (t *target) look(p *policy.Policy, d *backends.DeadLetter, reveal bool) seen {
	v := t.glance(d, reveal)
	v.class, v.shown = classify(p, d)
	return v
}

// classify judges the raw text: what the policy forbids must not depend on what it
// hides.
func classify(p *policy.Policy, d *backends.DeadLetter) (class, shown string) {
	return p.Classify(string(d.Reason.Verdict), d.Reason.Code.Raw(), d.Reason.Message.Raw())
}

// glance is look without the class, of which patterns take most of the time.
func (t *target) glance(d *backends.DeadLetter, reveal bool) seen {
	r := redactor{Redaction: t.q.Redact}
	if reveal {
		r = redactor{}
	}
	v := seen{size: d.Payload.Size}
	if d.Payload.Bytes != nil || r.needsBody() {
		v.body, r = r.body(d.Payload.Bytes)
		v.size = len(v.body.data)
	}
	show := func(text backends.Text) string { return v.body.text(r, text.Raw()) }
	v.message, v.code, v.stack, v.job = show(d.Reason.Message), show(d.Reason.Code), show(d.Reason.Stack), show(d.Origin.Job)
	for _, a := range d.Attributes {
		if v.body.withheld == "" {
			v.attrs = append(v.attrs, shownAttr{show(a.Name), show(a.Value)})
		}
	}
	v.group, v.label = t.prints.Of(backends.Symptom{
		Code: v.code, Message: v.message, Stack: v.stack, Queue: t.q.Name, Job: v.job, Shape: t.shape(&v),
	})
	return v
}

// shape is the payload's, in stores without reasons. Where a store has them, a
// letter without one is grouped by its origin alone: a listing has not read its
// body, and a letter must be in the same group wherever it is seen.
func (t *target) shape(v *seen) string {
	if t.can.Reasons || len(v.body.data) == 0 {
		return ""
	}
	return rawjson.Shape(v.body.data)
}
