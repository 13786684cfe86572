package rawjson

import "bytes"

// Equal says whether a and b are the same value by RFC 6902 §4.6: members in
// any order, strings by what they decode to, numbers by exact value. Nothing
// that is not strict JSON equals anything.
func Equal(a, b []byte) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && x.equal(0, y, 0)
}

// equal compares node n of t with node m of u.
func (t *tree) equal(n int, u *tree, m int) bool {
	if t.kind(n) != u.kind(m) || t.nodes[n].count != u.nodes[m].count {
		return false
	}
	switch t.kind(n) {
	case '{':
		return t.equalMembers(n, u, m)
	case '[':
		return t.equalElements(n, u, m)
	}
	return sameScalar(t.raw(n), u.raw(m))
}

func (t *tree) equalMembers(n int, u *tree, m int) bool {
	other := u.index(m)
	for _, c := range t.children(n) {
		d, ok := other[string(t.name(c))]
		if !ok || !t.equal(c, u, d) {
			return false
		}
	}
	return true
}

func (t *tree) equalElements(n int, u *tree, m int) bool {
	d := m + 1
	for _, c := range t.children(n) {
		if !t.equal(c, u, d) {
			return false
		}
		d = int(u.nodes[d].next)
	}
	return true
}

// sameScalar compares two scalars of one kind.
func sameScalar(a, b []byte) bool {
	switch kindOf(a) {
	case '"':
		return bytes.Equal(unquote(a, true), unquote(b, true))
	case '0':
		return bytes.Equal(a, b) || decimalOf(a) == decimalOf(b)
	}
	return true // true, false and null have a kind each
}
