package rawjson

import (
	"errors"
	"fmt"
)

// ErrNoPath means that the document has nothing at the pointer, or no place
// for it. It comes wrapped with the pointer.
var ErrNoPath = errors.New("no such path")

var errRemoveRoot = errors.New("the whole document cannot be removed")

// Get returns the bytes of the value at p. ok is false if there is none; err
// is a [*SyntaxError] if doc is not strict JSON.
func Get(doc []byte, p Pointer) (value []byte, ok bool, err error) {
	t, err := parse(doc)
	if err != nil {
		return nil, false, err
	}
	n, ok := t.find(p)
	if !ok {
		return nil, false, nil
	}
	return t.raw(n), true, nil
}

// Replace puts value in the place of the one at p, which must exist.
func Replace(doc []byte, p Pointer, value []byte) ([]byte, error) {
	return edited(doc, p, value, (*tree).replace)
}

// Add does what the operation of that name in RFC 6902 §4.1 does: a member is
// set, an element is inserted before the index or appended at the index "-".
// New members and elements are spaced like the last one beside them.
func Add(doc []byte, p Pointer, value []byte) ([]byte, error) {
	return edited(doc, p, value, (*tree).add)
}

// Remove takes the member or element at p away, with one comma.
func Remove(doc []byte, p Pointer) ([]byte, error) {
	t, err := parse(doc)
	if err != nil {
		return nil, err
	}
	e, err := t.remove(p)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", err, p.String())
	}
	return splice(doc, e), nil
}

// edited makes one edit that brings a value from outside.
func edited(doc []byte, p Pointer, value []byte, change func(*tree, Pointer, []byte) (edit, error)) ([]byte, error) {
	t, err := parse(doc)
	if err != nil {
		return nil, err
	}
	if value, err = fit(value, p.len()); err != nil {
		return nil, fmt.Errorf("new value: %w", err)
	}
	e, err := change(t, p, value)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", err, p.String())
	}
	return splice(doc, e), nil
}

// fit checks a value that is to stand at the given depth and trims the space
// around it.
func fit(value []byte, depth int) ([]byte, error) {
	own, err := depthOf(value)
	if err != nil {
		return nil, err
	}
	if own > 0 && depth+own > MaxDepth {
		return nil, &SyntaxError{Kind: KindTooDeep}
	}
	return trim(value), nil
}

func trim(value []byte) []byte {
	for len(value) > 0 && isSpace(value[0]) {
		value = value[1:]
	}
	for len(value) > 0 && isSpace(value[len(value)-1]) {
		value = value[:len(value)-1]
	}
	return value
}

func (t *tree) replace(p Pointer, value []byte) (edit, error) {
	n, ok := t.find(p)
	if !ok {
		return edit{}, ErrNoPath
	}
	return t.over(n, value), nil
}

func (t *tree) remove(p Pointer) (edit, error) {
	if p.IsRoot() {
		return edit{}, errRemoveRoot
	}
	parent, ok := t.find(p.Parent())
	if !ok {
		return edit{}, ErrNoPath
	}
	n, before, ok := t.child(parent, p.last.token)
	if !ok {
		return edit{}, ErrNoPath
	}
	return t.cut(parent, n, before), nil
}

func (t *tree) add(p Pointer, value []byte) (edit, error) {
	if p.IsRoot() {
		return t.over(0, value), nil
	}
	parent, ok := t.find(p.Parent())
	if !ok {
		return edit{}, ErrNoPath
	}
	switch t.kind(parent) {
	case '{':
		return t.set(parent, p.last.token, value)
	case '[':
		return t.insert(parent, p.last.token, value)
	}
	return edit{}, ErrNoPath
}
