package rawjson

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	shapeDepth = 3
	shapeBytes = 200
)

// Shape describes the structure of doc without any value: sorted names and
// kinds, three levels deep, in at most 200 bytes of ASCII, as in
//
//	{customer:{email:string,id:number},items:[number|string]}
//
// A longer one ends with a hash of the whole, so that shapes that differ late
// still differ. The text is stable across versions.
func Shape(doc []byte) string {
	t, err := parse(doc)
	if err != nil {
		return KindNotJSON
	}
	shape := t.shape(0, shapeDepth)
	if len(shape) <= shapeBytes {
		return shape
	}
	sum := sha256.Sum256([]byte(shape))
	tail := fmt.Sprintf("...#%x", sum[:8])
	return shape[:shapeBytes-len(tail)] + tail
}

// shape describes n, going into so many levels of containers.
func (t *tree) shape(n, levels int) string {
	switch t.kind(n) {
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	case '{':
		if levels == 0 {
			return "object"
		}
		return "{" + strings.Join(t.memberShapes(n, levels), ",") + "}"
	}
	if levels == 0 {
		return "array"
	}
	return "[" + strings.Join(t.elementShapes(n, levels), "|") + "]"
}

func (t *tree) memberShapes(n, levels int) []string {
	shapes := make([]string, 0, t.nodes[n].count)
	for _, c := range t.children(n) {
		shapes = append(shapes, shapeName(string(t.name(c)))+":"+t.shape(c, levels-1))
	}
	slices.Sort(shapes)
	return shapes
}

// elementShapes are the different shapes among the elements.
func (t *tree) elementShapes(n, levels int) []string {
	different := map[string]bool{}
	for _, c := range t.children(n) {
		different[t.shape(c, levels-1)] = true
	}
	shapes := make([]string, 0, len(different))
	for shape := range different {
		shapes = append(shapes, shape)
	}
	slices.Sort(shapes)
	return shapes
}

// shapeName quotes a name unless it is a plain word, so that no name can look
// like structure.
func shapeName(name string) string {
	for _, c := range []byte(name) {
		word := isDigit(c) || c == '_' || c == '-' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !word {
			return strconv.QuoteToASCII(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}
