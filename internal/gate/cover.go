package gate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// hiddenText stands where something was hidden.
const hiddenText = "[redacted]"

// standIn is the same as a JSON value.
const standIn = `"` + hiddenText + `"`

// minHidden is the shortest hidden value that is masked wherever else it occurs.
// Shorter ones occur everywhere by chance, and masking them would tell more than
// it hides.
const minHidden = 3

// redactor hides what the policy hides: by place, by pattern, and, as far as it
// knows a body, the values that are hidden there wherever else they occur. It
// runs before paging, filtering, grouping, fingerprints and diffs, so that none
// of them can answer a question about a hidden value.
type redactor struct {
	policy.Redaction
	values *finder
}

// needsBody reports whether a letter can only be shown once its body was read.
func (r redactor) needsBody() bool { return len(r.Paths) > 0 || len(r.Text) > 0 }

// span is a part of a text that is to be hidden.
type span struct{ from, to int }

// text hides values and patterns in a text.
func (r redactor) text(s string) string { return r.hide(s, asText) }

// hides reports whether something in a text is to be hidden. It may read the
// same afterwards: a hidden value can be a stand-in's text.
func (r redactor) hides(s string) bool { return len(r.spans(asText(s))) > 0 }

// spans are the hidden values in a text and what patterns match, in any spelling.
func (r redactor) spans(text *decoded) (spans []span) {
	for d := range layers(text) {
		r.values.find(d.text, func(from, to int) { spans = append(spans, placed(d, from, to)) })
		spans = append(spans, r.matched(d)...)
	}
	return spans
}

// hide finds what is to be hidden in the text as it is, so that a pattern hides
// the whole of what it matches where only a part of it is a hidden value too.
// Then patterns see the result, so that what is beside a stand-in is hidden
// whatever it stands for.
func (r redactor) hide(s string, read func(string) *decoded) string {
	if !r.needsBody() {
		return s
	}
	spans := r.spans(read(s))
	if s = cover(s, spans); len(spans) == 0 || len(r.Text) == 0 {
		return s
	}
	return cover(s, redactor{Redaction: r.Redaction}.spans(read(s)))
}

// matched is what patterns match in one layer of a text.
func (r redactor) matched(d *decoded) (spans []span) {
	for _, re := range r.Text {
		for _, m := range re.FindAllStringIndex(d.text, -1) {
			if m[0] < m[1] {
				spans = append(spans, placed(d, m[0], m[1]))
			}
		}
	}
	return spans
}

func placed(d *decoded, from, to int) span {
	from, to = d.place(from, to)
	return span{from, to}
}

// cover puts one stand-in over spans that overlap or touch. Those that stand in
// the text already are spans like others: nothing is hidden inside them.
func cover(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	for at := 0; ; {
		i := strings.Index(s[at:], hiddenText)
		if i < 0 {
			break
		}
		spans = append(spans, span{at + i, at + i + len(hiddenText)})
		at += i + len(hiddenText)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	done := 0
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from <= to; i++ {
			to = max(to, spans[i].to)
		}
		b.WriteString(s[done:from] + hiddenText)
		done = to
	}
	return b.String() + s[done:]
}

// json hides values and patterns in a JSON document, string by string, names
// too, and then what patterns match across them. Anything else is a text.
func (r redactor) json(doc []byte) string {
	if !r.needsBody() {
		return string(doc)
	}
	if rawjson.Check(doc) != nil {
		return r.text(string(doc))
	}
	var b strings.Builder
	done := 0
	for t := range rawjson.Tokens(doc) {
		is := doc[t.From:t.To]
		if shown := r.token(is); shown != string(is) {
			b.Write(doc[done:t.From])
			b.WriteString(shown)
			done = t.To
		}
	}
	b.Write(doc[done:])
	s := b.String()
	return cover(s, r.across(s))
}

// across are the spans that reach out of a string of a JSON document: what is
// inside one was looked for behind its escapes.
func (r redactor) across(doc string) []span {
	spans := r.matched(asText(doc))
	if len(spans) == 0 {
		return nil
	}
	tokens := slices.Collect(rawjson.Tokens([]byte(doc)))
	return slices.DeleteFunc(spans, func(s span) bool {
		n, _ := slices.BinarySearchFunc(tokens, s.to, func(t rawjson.Token, to int) int { return cmp.Compare(t.To, to) })
		return n < len(tokens) && doc[tokens[n].From] == '"' && tokens[n].From < s.from && s.to < tokens[n].To
	})
}

// token hides what is in one string, number or literal.
func (r redactor) token(is []byte) string {
	if is[0] != '"' {
		if r.hides(string(is)) {
			return standIn
		}
		return string(is)
	}
	return `"` + r.hide(string(is[1:len(is)-1]), inString) + `"`
}
