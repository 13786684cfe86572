package rawjson

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"
)

// MaxDepth is how many containers may stand inside each other.
const MaxDepth = 1000

// What can be wrong with a document; the values of [SyntaxError.Kind].
const (
	KindNotJSON   = "not JSON"
	KindDuplicate = "duplicate name"
	KindUTF8      = "invalid UTF-8"
	KindTrailing  = "trailing data"
	KindTooDeep   = "too deep"
	KindTooLarge  = "too large"
)

// SyntaxError says why a document is not strict JSON and at which byte. It
// carries no text of the document.
type SyntaxError struct {
	Offset int64
	Kind   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Kind, e.Offset)
}

// Check reports whether doc is strict JSON as the package comment defines it;
// the error is a [*SyntaxError]. Escapes of lone surrogates pass: they are
// odd, but RFC 8259 allows them and they are never rewritten.
func Check(doc []byte) error {
	_, err := depthOf(doc)
	return err
}

// depthOf checks doc and says how many levels it has; a scalar has none.
func depthOf(doc []byte) (int, error) {
	s := scanner{doc: doc}
	err := s.document()
	return s.deepest, err
}

// parse checks doc and indexes every value in it.
func parse(doc []byte) (*tree, error) {
	s := scanner{doc: doc, keep: true, nodes: make([]node, 0, likelyValues(doc))}
	if err := s.document(); err != nil {
		return nil, err
	}
	return &tree{doc: doc, nodes: s.nodes}, nil
}

// likelyValues estimates how many values doc has: every one is the first or
// stands behind a comma or an opening bracket. One allocation of that size is
// many times faster than a growing one when there are millions. Brackets count
// only as far as an ordinary document has them, so a depth bomb gets nothing.
func likelyValues(doc []byte) int {
	commas := bytes.Count(doc, []byte(","))
	opens := bytes.Count(doc, []byte("[")) + bytes.Count(doc, []byte("{"))
	return 1 + commas + min(opens, commas+MaxDepth)
}

// document reads the whole text: one value and nothing else.
func (s *scanner) document() error {
	if len(s.doc) > math.MaxInt32 { // offsets are kept in 32 bits
		return &SyntaxError{Kind: KindTooLarge}
	}
	if !utf8.Valid(s.doc) {
		return &SyntaxError{Offset: invalidAt(s.doc), Kind: KindUTF8}
	}
	s.space()
	if err := s.value(0, 0, 0); err != nil {
		return err
	}
	if s.space(); s.pos < len(s.doc) {
		return s.fail(KindTrailing)
	}
	return nil
}

// invalidAt is the offset of the first byte that is not UTF-8.
func invalidAt(doc []byte) int64 {
	at := 0
	for at < len(doc) {
		r, size := utf8.DecodeRune(doc[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return int64(at)
}
