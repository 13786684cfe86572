package rawjson

import (
	"iter"
	"slices"
)

// Hit is a value that a pattern matched; Value is doc[From:To].
type Hit struct {
	Pointer  Pointer
	Value    []byte
	From, To int
}

// Find returns every value at a place that pat names, in document order.
func Find(doc []byte, pat Pattern) ([]Hit, error) {
	t, err := parse(doc)
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for n, p := range t.matches([]Pattern{pat}) {
		hits = append(hits, Hit{p, t.raw(n), int(t.nodes[n].from), t.end(n)})
	}
	return hits, nil
}

// matches yields the outermost values that any pattern names, in document
// order. Subtrees that no pattern leads into are passed over.
func (t *tree) matches(pats []Pattern) iter.Seq2[int, Pointer] {
	return func(yield func(int, Pointer) bool) { t.match(0, Pointer{}, pats, yield) }
}

// match looks at n, which all of pats agree with so far.
func (t *tree) match(n int, p Pointer, pats []Pattern, yield func(int, Pointer) bool) bool {
	for _, pat := range pats {
		if len(pat.tokens) == p.len() {
			return yield(n, p)
		}
	}
	if len(pats) == 0 {
		return true
	}
	for i, c := range t.children(n) {
		token := t.token(i, c)
		alive := agreeing(pats, p.len(), token)
		if len(alive) > 0 && !t.match(c, p.Child(token), alive, yield) {
			return false
		}
	}
	return true
}

// agreeing are the patterns whose i-th token accepts token.
func agreeing(pats []Pattern, i int, token string) []Pattern {
	rejects := func(pat Pattern) bool { return !pat.accepts(i, token) }
	if !slices.ContainsFunc(pats, rejects) {
		return pats // most often, and always for one pattern that leads on
	}
	return slices.DeleteFunc(slices.Clone(pats), rejects)
}

// Leaves yields every scalar with its pointer, in document order, and nothing
// if doc is not strict JSON. [Text] decodes a value.
func Leaves(doc []byte) iter.Seq2[Pointer, []byte] {
	return func(yield func(Pointer, []byte) bool) {
		if t, err := parse(doc); err == nil {
			t.leaves(0, Pointer{}, yield)
		}
	}
}

func (t *tree) leaves(n int, p Pointer, yield func(Pointer, []byte) bool) bool {
	if t.scalar(n) {
		return yield(p, t.raw(n))
	}
	for i, c := range t.children(n) {
		if !t.leaves(c, p.Child(t.token(i, c)), yield) {
			return false
		}
	}
	return true
}

// Token is a name or a scalar, doc[From:To], quotes included.
type Token struct {
	From, To int
	Name     bool
}

// Tokens yields every name and every scalar in document order, and nothing if
// doc is not strict JSON.
func Tokens(doc []byte) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		t, err := parse(doc)
		if err != nil {
			return
		}
		for n, v := range t.nodes {
			if v.keyTo > 0 && !yield(Token{int(v.keyFrom), int(v.keyTo), true}) {
				return
			}
			if t.scalar(n) && !yield(Token{int(v.from), int(v.to), false}) {
				return
			}
		}
	}
}
