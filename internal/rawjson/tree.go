package rawjson

import (
	"iter"
	"strconv"
)

// node is one value of a document: its bytes and those of its quoted name, the
// number of its children, and the node after all its descendants. Nodes stand
// in document order, so the children of n begin at n+1. 32-bit offsets halve
// what a hostile document of a million tiny values can cost.
type node struct {
	keyFrom, keyTo, from, to, count, next int32
}

// tree is a checked document with its values indexed; node 0 is the root.
type tree struct {
	doc   []byte
	nodes []node
}

// raw is the value's bytes, capped so that appending to it copies.
func (t *tree) raw(n int) []byte {
	v := t.nodes[n]
	return t.doc[v.from:v.to:v.to]
}

// kind is the value's first byte, or '0' for every number.
func (t *tree) kind(n int) byte { return kindOf(t.raw(n)) }

func kindOf(raw []byte) byte {
	if c := raw[0]; c != '-' && !isDigit(c) {
		return c
	}
	return '0'
}

func (t *tree) scalar(n int) bool {
	k := t.kind(n)
	return k != '{' && k != '['
}

// start is where the member or element begins, its name included.
func (t *tree) start(n int) int {
	if v := t.nodes[n]; v.keyTo == 0 {
		return int(v.from)
	} else {
		return int(v.keyFrom)
	}
}

func (t *tree) end(n int) int { return int(t.nodes[n].to) }

// name is the decoded name of a member.
func (t *tree) name(n int) []byte {
	v := t.nodes[n]
	return nameBytes(t.doc[v.keyFrom:v.keyTo])
}

// token is the pointer token of child n, the i-th of its parent.
func (t *tree) token(i, n int) string {
	if t.nodes[n].keyTo == 0 {
		return strconv.Itoa(i)
	}
	return string(t.name(n))
}

// children yields the position and the node of each child of n.
func (t *tree) children(n int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		child := n + 1
		for i := range int(t.nodes[n].count) {
			if !yield(i, child) {
				return
			}
			child = int(t.nodes[child].next)
		}
	}
}

// index maps the names of object n to its members.
func (t *tree) index(n int) map[string]int {
	members := make(map[string]int, t.nodes[n].count)
	for _, c := range t.children(n) {
		members[string(t.name(c))] = c
	}
	return members
}

// elements lists the children of n.
func (t *tree) elements(n int) []int {
	list := make([]int, 0, t.nodes[n].count)
	for _, c := range t.children(n) {
		list = append(list, c)
	}
	return list
}

// child finds the child of n that token names, and the sibling before it (-1
// for none).
func (t *tree) child(n int, token string) (c, before int, ok bool) {
	at := -1
	switch t.kind(n) {
	case '[':
		if at, ok = arrayIndex(token); !ok {
			return 0, 0, false
		}
	case '{':
	default:
		return 0, 0, false
	}
	before = -1
	for i, c := range t.children(n) {
		if i == at || at < 0 && string(t.name(c)) == token {
			return c, before, true
		}
		before = c
	}
	return 0, 0, false
}

// find is the node that p points at.
func (t *tree) find(p Pointer) (n int, ok bool) {
	for _, token := range p.Tokens() {
		if n, _, ok = t.child(n, token); !ok {
			return 0, false
		}
	}
	return n, true
}

// arrayIndex reads an array index of RFC 6901 §4: 0, or digits without a
// leading zero.
func arrayIndex(token string) (int, bool) {
	if token == "" || token[0] == '0' && token != "0" {
		return 0, false
	}
	for i := range len(token) {
		if !isDigit(token[i]) {
			return 0, false
		}
	}
	i, err := strconv.Atoi(token)
	return i, err == nil
}
