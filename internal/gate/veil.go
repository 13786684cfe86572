package gate

import (
	"errors"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

var (
	errUnread  = errors.New("it is not strict JSON, so the values that the policy hides cannot be found in it")
	errWrapped = errors.New("a string stands in it where the policy hides something inside, and it is not strict JSON either")
)

// veiled is a body in which the places that the policy names are hidden.
type veiled struct {
	doc    []byte
	hidden [][]byte // the values that stood there, each once
	values *finder  // of them
	places int
	// wrapped are places of strings that hold JSON where the policy hides
	// something inside: the path leads into the string, as a reader sees it who
	// decodes it. Such a string is hidden whole.
	wrapped []rawjson.Pattern
}

// veil hides paths. An error says why nothing of the body can be shown.
func (r redactor) veil(raw []byte) (v veiled, err error) {
	if len(r.Paths) == 0 {
		return veiled{doc: raw}, nil
	}
	var hidden [][]byte
	if v.doc, hidden, err = rawjson.Mask(raw, r.Paths, []byte(standIn)); err != nil {
		return v, errUnread
	}
	for _, text := range hidden {
		inside, _ := textsOf(string(text))
		v.hidden = append(append(v.hidden, text), inside...)
	}
	seen := map[string]bool{}
	for _, pat := range r.Paths {
		hits, _ := rawjson.Find(v.doc, pat)
		for _, h := range hits {
			seen[h.Pointer.String()] = true
		}
	}
	v.places = len(seen)
	if err := r.unwrap(&v); err != nil {
		return v, err
	}
	v.values, err = newFinder(sought(v.hidden))
	return v, err
}

// unwrap hides strings that hold JSON above a place that the policy hides.
func (r redactor) unwrap(v *veiled) error {
	for p, leaf := range rawjson.Leaves(v.doc) {
		if leaf[0] != '"' || !r.leadsOn(p) {
			continue
		}
		text := rawjson.Text(leaf)
		inside, holds := textsOf(text)
		if !holds {
			continue
		}
		if inside == nil {
			return errWrapped
		}
		place, err := rawjson.ParsePattern(p.String())
		if err != nil {
			return errUnread
		}
		v.wrapped = append(v.wrapped, place)
		v.hidden = append(append(v.hidden, []byte(text)), inside...)
	}
	if len(v.wrapped) == 0 {
		return nil
	}
	v.places += len(v.wrapped)
	var err error
	v.doc, _, err = rawjson.Mask(v.doc, v.wrapped, []byte(standIn))
	return err
}

// leadsOn reports whether a path that is hidden leads through p, which is not
// hidden itself.
func (r redactor) leadsOn(p rawjson.Pointer) (on bool) {
	for _, pat := range r.Paths {
		if pat.Covers(p) {
			return false
		}
		on = on || pat.Related(p)
	}
	return on
}

// textsOf are the strings and numbers in a string that holds JSON, and in those
// of them that do. holds reports whether it looks like JSON; it is not strict
// JSON if there are no texts then.
func textsOf(s string) (texts [][]byte, holds bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.IndexByte(`{["`, s[0]) < 0 {
		return nil, false
	}
	texts = [][]byte{[]byte(s)}
	_, inside, err := rawjson.Mask([]byte(s), []rawjson.Pattern{{}}, []byte("null"))
	if err != nil {
		return nil, true
	}
	for _, text := range inside {
		deeper, _ := textsOf(string(text))
		texts = append(append(texts, text), deeper...)
	}
	return texts, true
}

// sought are values as they may stand elsewhere: with and without the space
// around them.
func sought(values [][]byte) (out [][]byte) {
	for _, v := range values {
		if len(v) < minHidden {
			continue
		}
		out = append(out, v)
		if bare := strings.TrimSpace(string(v)); len(bare) < len(v) && len(bare) >= minHidden {
			out = append(out, []byte(bare))
		}
	}
	return out
}
