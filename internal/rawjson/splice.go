package rawjson

import (
	"slices"
	"strconv"
)

// edit puts with in the place of doc[from:to].
type edit struct {
	from, to int
	with     []byte
}

// splice makes all edits, which come in document order and do not overlap.
func splice(doc []byte, edits ...edit) []byte {
	size := len(doc)
	for _, e := range edits {
		size += len(e.with) - (e.to - e.from)
	}
	out, at := make([]byte, 0, size), 0
	for _, e := range edits {
		out = append(append(out, doc[at:e.from]...), e.with...)
		at = e.to
	}
	return append(out, doc[at:]...)
}

// over replaces the value of n and keeps its name.
func (t *tree) over(n int, value []byte) edit {
	return edit{int(t.nodes[n].from), t.end(n), value}
}

// cut removes child n of parent: together with the comma before it if before,
// the sibling there, is not -1, else with the comma after it if there is one.
func (t *tree) cut(parent, n, before int) edit {
	if before >= 0 {
		return edit{t.end(before), t.end(n), nil}
	}
	if next := t.nodes[n].next; next < t.nodes[parent].next {
		return edit{t.start(n), t.start(int(next)), nil}
	}
	return edit{t.start(n), t.end(n), nil}
}

// set gives object n the member name.
func (t *tree) set(n int, name string, value []byte) (edit, error) {
	if c, _, ok := t.child(n, name); ok {
		return t.over(c, value), nil
	}
	quoted, err := quote(name)
	if err != nil {
		return edit{}, err
	}
	last := t.lastChild(n)
	return t.behind(n, last, t.member(n, last, quoted, value, t.nodes[n].count == 0)), nil
}

// member is the text of a new member after the child last, in its style.
func (t *tree) member(n, last int, quoted, value []byte, first bool) []byte {
	colon := []byte(":")
	if last >= 0 {
		colon = short256(t.doc[t.nodes[last].keyTo:t.nodes[last].from], colon)
	}
	if first {
		return slices.Concat(quoted, colon, value)
	}
	return slices.Concat([]byte(","), t.lead(n, last), quoted, colon, value)
}

// insert puts value before the element at token, or at the end.
func (t *tree) insert(n int, token string, value []byte) (edit, error) {
	size := strconv.Itoa(int(t.nodes[n].count))
	if token != "-" && token != size {
		c, _, ok := t.child(n, token)
		if !ok {
			return edit{}, ErrNoPath
		}
		at := t.start(c)
		return edit{at, at, slices.Concat(value, []byte(","), t.lead(n, c))}, nil
	}
	last := t.lastChild(n)
	if last < 0 {
		return t.behind(n, last, value), nil
	}
	return t.behind(n, last, slices.Concat([]byte(","), t.lead(n, last), value)), nil
}

// behind inserts text after the child last, or first into an empty container.
func (t *tree) behind(n, last int, text []byte) edit {
	at := int(t.nodes[n].from) + 1
	if last >= 0 {
		at = t.end(last)
	}
	return edit{at, at, text}
}

func (t *tree) lastChild(n int) int {
	last := -1
	for _, c := range t.children(n) {
		last = c
	}
	return last
}

// lead is the white space before child c of n, if there is such a child.
func (t *tree) lead(n, c int) []byte {
	if c < 0 {
		return nil
	}
	from := t.start(c)
	for from > int(t.nodes[n].from) && isSpace(t.doc[from-1]) {
		from--
	}
	return short256(t.doc[from:t.start(c)], nil)
}

// short256 is style if it is worth copying: a kilobyte of spaces is not.
func short256(style, otherwise []byte) []byte {
	if len(style) > 256 {
		return otherwise
	}
	return style
}
