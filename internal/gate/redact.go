package gate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// hiddenText stands where something was hidden.
const hiddenText = "[redacted]"

// minHidden is the shortest hidden value that is masked wherever else it occurs.
// Shorter ones occur everywhere by chance, and masking them would tell more than
// it hides.
const minHidden = 3

// redactor hides what the policy hides. It runs before paging, filtering,
// grouping, fingerprints and diffs, so that none of them can answer a question
// about a hidden value.
type redactor struct{ policy.Redaction }

// needsBody reports whether a letter can only be shown once its body was read.
func (r redactor) needsBody() bool { return len(r.Paths) > 0 || len(r.Text) > 0 }

// shownBody is a body as a caller may see it.
type shownBody struct {
	data     []byte
	hidden   [][]byte // the values that were hidden in it
	places   int      // how many places the policy hides in it
	withheld string   // why nothing of it is shown
}

// body hides paths, the same values elsewhere in the body, and patterns. A body
// that is no strict JSON is withheld whole where paths are hidden: two readers
// may find different values at one path.
func (r redactor) body(raw []byte) shownBody {
	b := shownBody{data: raw}
	if len(r.Paths) > 0 {
		masked, hidden, err := rawjson.Mask(raw, r.Paths, []byte(`"`+hiddenText+`"`))
		if err != nil {
			return shownBody{withheld: "it is not strict JSON, so the values that the policy hides cannot be found in it"}
		}
		b.data, b.hidden = masked, longestFirst(hidden)
		for _, pat := range r.Paths {
			if hits, err := rawjson.Find(raw, pat); err == nil {
				b.places += len(hits)
			}
		}
	}
	b.data = []byte(r.json(b.data, b.hidden))
	return b
}

// json is a JSON value, or what stands for one, with everything hidden.
func (r redactor) json(value []byte, hidden [][]byte) string {
	return r.text(string(r.escapes(value, hidden)), hidden)
}

// escapes hides the strings of a JSON body in which something is to be hidden
// only once their escapes are read: any character may be written as one.
func (r redactor) escapes(doc []byte, hidden [][]byte) []byte {
	if !r.needsBody() || bytes.IndexByte(doc, '\\') < 0 {
		return doc
	}
	out := doc
	for _, v := range rawjson.Leaves(doc) {
		if bytes.IndexByte(v, '\\') < 0 {
			continue
		}
		if text := rawjson.Text(v); r.text(text, hidden) != text {
			out = bytes.ReplaceAll(out, v, []byte(`"`+hiddenText+`"`))
		}
	}
	return out
}

// text hides values that were hidden in the body, then patterns. The longest
// values come first, so that none is left over around a shorter one within it.
func (r redactor) text(s string, hidden [][]byte) string {
	for _, h := range hidden {
		if len(h) < minHidden {
			continue
		}
		for _, spelled := range spellings(string(h)) {
			s = strings.ReplaceAll(s, spelled, hiddenText)
		}
	}
	for _, re := range r.Text {
		s = re.ReplaceAllString(s, hiddenText)
	}
	return s
}

// spellings are a value as it is and as it may stand inside a JSON string:
// escaped as little as RFC 8259 allows, and as encoders do that write ASCII only
// or guard against HTML.
func spellings(v string) []string {
	if !strings.ContainsFunc(v, func(c rune) bool { return c < 0x20 || c > 0x7e || strings.ContainsRune(`"\<>&`, c) }) {
		return []string{v} // the same everywhere
	}
	least := spell(v, func(rune) bool { return true })
	html := spell(v, func(c rune) bool { return c != '<' && c != '>' && c != '&' })
	ascii := spell(v, func(c rune) bool { return c < 0x7f })
	return slices.Compact([]string{v, least, html, ascii})
}

// spell escapes a value for a JSON string; plain says which characters may stay
// of those that need no escape.
func spell(v string, plain func(rune) bool) string {
	var b strings.Builder
	for _, c := range v {
		switch i := strings.IndexRune("\"\\\n\r\t\b\f", c); {
		case i >= 0:
			b.WriteString(`\` + `"\nrtbf`[i:i+1])
		case c >= 0x20 && plain(c):
			b.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

func longestFirst(values [][]byte) [][]byte {
	slices.SortStableFunc(values, func(a, b []byte) int { return len(b) - len(a) })
	return values
}

// wordsOf lists the words of a body that was withheld: any of them may be a
// hidden value, so none is shown in an error text either.
func wordsOf(body []byte) (words [][]byte) {
	seen := map[string]bool{}
	for _, w := range bytes.FieldsFunc(body, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '@' && c != '.' && c != '-' && c != '_'
	}) {
		if len(w) >= minHidden && !seen[string(w)] && len(seen) < 10_000 {
			seen[string(w)] = true
			words = append(words, w)
		}
	}
	return longestFirst(words)
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
	return redactor{t.q.Redact}.needsBody() || !t.store.Can(t.q.Name).Reasons
}

// look makes a letter fit to be shown. The class is judged on the raw text: what
// the policy forbids must not depend on what it hides.
func (t *target) look(p *policy.Policy, d *backends.DeadLetter, reveal bool) seen {
	r := redactor{t.q.Redact}
	if reveal {
		r = redactor{}
	}
	v := seen{size: d.Payload.Size}
	if d.Payload.Bytes != nil || r.needsBody() {
		v.body = r.body(d.Payload.Bytes)
		v.size = len(v.body.data)
	}
	hidden := v.body.hidden
	if v.body.withheld != "" {
		hidden = wordsOf(d.Payload.Bytes)
	}
	show := func(text backends.Text) string { return r.text(text.Raw(), hidden) }
	v.message, v.code, v.stack, v.job = show(d.Reason.Message), show(d.Reason.Code), show(d.Reason.Stack), show(d.Origin.Job)
	for _, a := range d.Attributes {
		v.attrs = append(v.attrs, shownAttr{show(a.Name), show(a.Value)})
	}
	v.class, v.shown = p.Classify(string(d.Reason.Verdict), d.Reason.Code.Raw(), d.Reason.Message.Raw())
	v.group, v.label = backends.Fingerprint(backends.Symptom{
		Code: v.code, Message: v.message, Stack: v.stack, Queue: t.q.Name, Job: v.job, Shape: t.shape(&v),
	})
	return v
}

// shape is the payload's, in stores without reasons. Where a store has them, a
// letter without one is grouped by its origin alone: a listing has not read its
// body, and a letter must be in the same group wherever it is seen.
func (t *target) shape(v *seen) string {
	if t.store.Can(t.q.Name).Reasons || len(v.body.data) == 0 {
		return ""
	}
	return rawjson.Shape(v.body.data)
}
