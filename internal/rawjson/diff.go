package rawjson

import (
	"fmt"
	"strconv"
)

// What happened to a place; the values of [Change.Op].
const (
	OpAdd     = "add"
	OpRemove  = "remove"
	OpReplace = "replace"
)

// Change is one difference between two documents. Pointer is a place in the
// document before, or for an addition in the one after. Before is nil for an
// addition, After for a removal.
//
// Adding or removing an element also moves the elements behind it, which are
// not listed: whoever judges single indexes must judge the array as touched.
type Change struct {
	Pointer       Pointer
	Op            string
	Before, After []byte
}

// Diff lists what really differs: nothing exactly if [Equal] says so. Members
// are compared by name, elements by index once the equal beginning and end of
// arrays of different lengths are set aside. Removals and replacements come in
// document order of before, additions after them.
func Diff(before, after []byte) ([]Change, error) {
	a, err := parse(before)
	if err != nil {
		return nil, fmt.Errorf("document before: %w", err)
	}
	b, err := parse(after)
	if err != nil {
		return nil, fmt.Errorf("document after: %w", err)
	}
	d := differ{a: a, b: b}
	d.pair(Pointer{}, 0, 0)
	return append(d.changed, d.added...), nil
}

type differ struct {
	a, b           *tree
	changed, added []Change
}

// pair compares the two values at p.
func (d *differ) pair(p Pointer, x, y int) {
	kind := d.a.kind(x)
	switch {
	case kind != d.b.kind(y):
		d.changed = append(d.changed, Change{p, OpReplace, d.a.raw(x), d.b.raw(y)})
	case kind == '{':
		d.objects(p, x, y)
	case kind == '[':
		d.arrays(p, d.a.elements(x), d.b.elements(y))
	case !sameScalar(d.a.raw(x), d.b.raw(y)):
		d.changed = append(d.changed, Change{p, OpReplace, d.a.raw(x), d.b.raw(y)})
	}
}

func (d *differ) objects(p Pointer, x, y int) {
	old, now := d.a.index(x), d.b.index(y)
	for i, c := range d.a.children(x) {
		name := d.a.token(i, c)
		if other, ok := now[name]; ok {
			d.pair(p.Child(name), c, other)
		} else {
			d.remove(p.Child(name), c)
		}
	}
	for i, c := range d.b.children(y) {
		name := d.b.token(i, c)
		if _, ok := old[name]; !ok {
			d.add(p.Child(name), c)
		}
	}
}

func (d *differ) arrays(p Pointer, old, now []int) {
	front, back := 0, 0
	if len(old) != len(now) {
		front, back = d.common(old, now)
	}
	old, now = old[front:len(old)-back], now[front:len(now)-back]
	for i := range max(len(old), len(now)) {
		at := p.Child(strconv.Itoa(front + i))
		switch {
		case i >= len(now):
			d.remove(at, old[i])
		case i >= len(old):
			d.add(at, now[i])
		default:
			d.pair(at, old[i], now[i])
		}
	}
}

// common counts the equal elements at the front and, of the rest, at the back.
func (d *differ) common(old, now []int) (front, back int) {
	least := min(len(old), len(now))
	for front < least && d.a.equal(old[front], d.b, now[front]) {
		front++
	}
	for back < least-front && d.a.equal(old[len(old)-1-back], d.b, now[len(now)-1-back]) {
		back++
	}
	return front, back
}

func (d *differ) remove(p Pointer, n int) {
	d.changed = append(d.changed, Change{Pointer: p, Op: OpRemove, Before: d.a.raw(n)})
}

func (d *differ) add(p Pointer, n int) {
	d.added = append(d.added, Change{Pointer: p, Op: OpAdd, After: d.b.raw(n)})
}
