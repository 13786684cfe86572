package rawjson

import (
	"fmt"
	"iter"
)

// MergePatch applies a JSON Merge Patch (RFC 7396): null removes a member,
// objects are merged, every other value replaces. What the patch does not name
// keeps its bytes; new members come last, in the order of the patch.
func MergePatch(doc, patch []byte) ([]byte, error) {
	t, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	u, err := parse(patch)
	if err != nil {
		return nil, fmt.Errorf("merge patch: %w", err)
	}
	m := merger{doc: t, patch: u}
	m.value(0, 0)
	return splice(doc, m.edits...), nil
}

type merger struct {
	doc, patch *tree
	edits      []edit
}

// value merges the patch's value y into the document's value x.
func (m *merger) value(x, y int) {
	if m.doc.kind(x) == '{' && m.patch.kind(y) == '{' {
		m.object(x, y)
		return
	}
	m.edits = append(m.edits, m.doc.over(x, m.patch.withoutNulls(y)))
}

func (m *merger) object(x, y int) {
	wanted, last, kept := m.patch.index(y), -1, false
	for _, c := range m.doc.children(x) {
		name := string(m.doc.name(c))
		switch w, named := wanted[name]; {
		case named && m.patch.kind(w) == 'n':
			before := last
			if !kept { // the comma before it belongs to a member that is gone
				before = -1
			}
			m.edits = append(m.edits, m.doc.cut(x, c, before))
		case named:
			m.value(c, w)
			kept = true
		default:
			kept = true
		}
		delete(wanted, name)
		last = c
	}
	m.additions(x, y, wanted, last, kept)
}

// additions appends those members of y that are wanted still.
func (m *merger) additions(x, y int, wanted map[string]int, last int, kept bool) {
	for _, c := range m.patch.children(y) {
		if _, ok := wanted[string(m.patch.name(c))]; !ok || m.patch.kind(c) == 'n' {
			continue
		}
		v := m.patch.nodes[c]
		quoted := m.patch.doc[v.keyFrom:v.keyTo]
		text := m.doc.member(x, last, quoted, m.patch.withoutNulls(c), !kept)
		m.edits = append(m.edits, m.doc.behind(x, last, text))
		kept = true
	}
}

// withoutNulls is the value n as a merge into nothing leaves it: members that
// are null go, in objects inside objects too. Arrays stay as they are.
func (t *tree) withoutNulls(n int) []byte {
	edits := t.dropNulls(n, nil)
	base := int(t.nodes[n].from)
	for i := range edits {
		edits[i].from -= base
		edits[i].to -= base
	}
	return splice(t.raw(n), edits...)
}

func (t *tree) dropNulls(n int, edits []edit) []edit {
	if t.kind(n) != '{' {
		return edits
	}
	last, kept := -1, false
	for _, c := range t.children(n) {
		if t.kind(c) == 'n' {
			before := last
			if !kept {
				before = -1
			}
			edits = append(edits, t.cut(n, c, before))
		} else {
			edits = t.dropNulls(c, edits)
			kept = true
		}
		last = c
	}
	return edits
}

// MergePlaces yields the places that a merge patch sets, in its own order, with
// what it says there: an object is merged member by member; every other value,
// an empty object too, stands for itself, null for a removal. It yields nothing
// if patch is not strict JSON.
func MergePlaces(patch []byte) iter.Seq2[Pointer, []byte] {
	return func(yield func(Pointer, []byte) bool) {
		if t, err := parse(patch); err == nil {
			t.mergePlaces(0, Pointer{}, yield)
		}
	}
}

func (t *tree) mergePlaces(n int, p Pointer, yield func(Pointer, []byte) bool) bool {
	if t.kind(n) != '{' || t.nodes[n].count == 0 {
		return yield(p, t.raw(n))
	}
	for i, c := range t.children(n) {
		if !t.mergePlaces(c, p.Child(t.token(i, c)), yield) {
			return false
		}
	}
	return true
}
