package rawjson

import (
	"fmt"
	"slices"
)

// Keep writes the value of after in the bytes of before: what is equal by
// [Equal] keeps its spelling, its white space and the place of its members, and
// what differs has after's bytes. So the result holds exactly the differences
// that [Diff] lists: no number written another way and no members in another
// order come with them.
func Keep(before, after []byte) ([]byte, error) {
	a, err := parse(before)
	if err != nil {
		return nil, fmt.Errorf("document before: %w", err)
	}
	b, err := parse(after)
	if err != nil {
		return nil, fmt.Errorf("document after: %w", err)
	}
	k := keeper{differ: differ{a: a, b: b}}
	k.pair(0, 0)
	return splice(before, k.edits...), nil
}

type keeper struct {
	differ // for the pairs of two arrays
	edits  []edit
}

// pair turns x into y.
func (k *keeper) pair(x, y int) {
	kind := k.a.kind(x)
	switch {
	case kind != k.b.kind(y):
		k.edits = append(k.edits, k.a.over(x, k.b.raw(y)))
	case kind == '{':
		k.objects(x, y)
	case kind == '[':
		k.arrays(x, k.a.elements(x), k.b.elements(y))
	case !sameScalar(k.a.raw(x), k.b.raw(y)):
		k.edits = append(k.edits, k.a.over(x, k.b.raw(y)))
	}
}

func (k *keeper) objects(x, y int) {
	wanted, last, kept := k.b.index(y), -1, false
	for _, c := range k.a.children(x) {
		name := string(k.a.name(c))
		if other, ok := wanted[name]; ok {
			k.pair(c, other)
			kept = true
			delete(wanted, name)
		} else {
			k.drop(x, c, last, kept)
		}
		last = c
	}
	var texts [][]byte
	for _, c := range k.b.children(y) {
		if _, ok := wanted[string(k.b.name(c))]; ok {
			v := k.b.nodes[c]
			texts = append(texts, k.a.member(x, last, k.b.doc[v.keyFrom:v.keyTo], k.b.raw(c), !kept))
			kept = true
		}
	}
	k.insert(x, last, texts)
}

// drop removes child c of x, behind the sibling last.
func (k *keeper) drop(x, c, last int, kept bool) {
	if !kept { // the comma before it belongs to what is gone
		last = -1
	}
	k.edits = append(k.edits, k.a.cut(x, c, last))
}

// insert puts texts, with their commas, behind the child last of x.
func (k *keeper) insert(x, last int, texts [][]byte) {
	if len(texts) > 0 {
		k.edits = append(k.edits, k.a.behind(x, last, slices.Concat(texts...)))
	}
}

func (k *keeper) arrays(x int, old, now []int) {
	front, back := 0, 0
	if len(old) != len(now) {
		front, back = k.common(old, now)
	}
	pairs := min(len(old), len(now)) - back // the elements that have a partner in front
	for i := front; i < pairs; i++ {
		k.pair(old[i], now[i])
	}
	for i := pairs; i < len(old)-back; i++ {
		last := -1
		if i > 0 {
			last = old[i-1]
		}
		k.drop(x, old[i], last, pairs > 0)
	}
	k.elements(x, old, pairs, now[pairs:len(now)-back])
}

// elements adds elements of after before the element at of old.
func (k *keeper) elements(x int, old []int, at int, added []int) {
	if len(added) == 0 {
		return
	}
	var texts [][]byte
	for _, c := range added {
		texts = append(texts, k.b.raw(c))
	}
	switch {
	case at > 0:
		last := old[at-1]
		for i, text := range texts {
			texts[i] = slices.Concat([]byte(","), k.a.lead(x, last), text)
		}
		k.insert(x, last, texts)
	case len(old) > 0: // in front of all
		first := old[0]
		for i, text := range texts {
			texts[i] = slices.Concat(text, []byte(","), k.a.lead(x, first))
		}
		start := k.a.start(first)
		k.edits = append(k.edits, edit{start, start, slices.Concat(texts...)})
	default:
		for i := 1; i < len(texts); i++ {
			texts[i] = slices.Concat([]byte(","), texts[i])
		}
		k.insert(x, -1, texts)
	}
}
