package rawjson

import "bytes"

// scanner reads strict JSON once, front to back. It calls itself for nested
// values, never deeper than MaxDepth, so a depth bomb costs no stack.
//
// It is our own because offsets of every value, a depth limit and names that
// differ only in lone surrogates are all needed from one pass.
type scanner struct {
	doc     []byte
	pos     int
	deepest int
	keep    bool // fill nodes
	nodes   []node
	names   [][]byte // decoded names of all open objects, innermost last
}

func (s *scanner) fail(kind string) error {
	return &SyntaxError{Offset: int64(s.pos), Kind: kind}
}

// peek is the next byte, or 0 at the end; no grammar rule accepts a 0.
func (s *scanner) peek() byte {
	if s.pos < len(s.doc) {
		return s.doc[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.doc) && isSpace(s.doc[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// take consumes c if it is next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// value reads one value whose name, if it has one, stands at doc[keyFrom:keyTo].
func (s *scanner) value(keyFrom, keyTo, depth int) error {
	at, from := len(s.nodes), s.pos
	if s.keep {
		s.nodes = append(s.nodes, node{keyFrom: int32(keyFrom), keyTo: int32(keyTo), from: int32(from)})
	}
	count, err := s.body(depth)
	if err != nil {
		return err
	}
	if s.keep {
		n := &s.nodes[at]
		n.to, n.count, n.next = int32(s.pos), int32(count), int32(len(s.nodes))
	}
	return nil
}

// body reads the value itself and counts its members or elements.
func (s *scanner) body(depth int) (count int, err error) {
	switch s.peek() {
	case '{':
		return s.container(depth, '}')
	case '[':
		return s.container(depth, ']')
	case '"':
		return 0, s.str()
	case 't':
		return 0, s.literal("true")
	case 'f':
		return 0, s.literal("false")
	case 'n':
		return 0, s.literal("null")
	}
	return 0, s.number()
}

// container reads an object or array up to its end, and counts its children.
func (s *scanner) container(depth int, end byte) (count int, err error) {
	if depth++; depth > MaxDepth {
		return 0, s.fail(KindTooDeep)
	}
	s.deepest = max(s.deepest, depth)
	s.pos++
	if s.space(); s.take(end) {
		return 0, nil
	}
	if end == '}' {
		count, err = s.object(depth)
	} else {
		count, err = s.array(depth)
	}
	if err == nil && !s.take(end) {
		err = s.fail(KindNotJSON)
	}
	return count, err
}

func (s *scanner) array(depth int) (int, error) {
	for count := 1; ; count++ {
		if err := s.value(0, 0, depth); err != nil {
			return 0, err
		}
		if s.space(); !s.take(',') {
			return count, nil
		}
		s.space()
	}
}

func (s *scanner) object(depth int) (int, error) {
	seen := nameSet{base: len(s.names)}
	for count := 1; ; count++ {
		from := s.pos
		if err := s.name(&seen); err != nil {
			return 0, err
		}
		to := s.pos
		if s.space(); !s.take(':') {
			return 0, s.fail(KindNotJSON)
		}
		s.space()
		if err := s.value(from, to, depth); err != nil {
			return 0, err
		}
		if s.space(); !s.take(',') {
			s.names = s.names[:seen.base]
			return count, nil
		}
		s.space()
	}
}

// name reads a member's name and refuses one that the object already has.
func (s *scanner) name(seen *nameSet) error {
	from := s.pos
	if s.peek() != '"' {
		return s.fail(KindNotJSON)
	}
	if err := s.str(); err != nil {
		return err
	}
	if !seen.add(s, nameBytes(s.doc[from:s.pos])) {
		return &SyntaxError{Offset: int64(from), Kind: KindDuplicate}
	}
	return nil
}

// nameSet holds the names of one object: a short list, then also a map.
type nameSet struct {
	base int
	many map[string]struct{}
}

const fewNames = 16

func (o *nameSet) add(s *scanner, name []byte) bool {
	mine := s.names[o.base:]
	if o.many == nil && len(mine) < fewNames {
		for _, other := range mine {
			if bytes.Equal(other, name) {
				return false
			}
		}
		s.names = append(s.names, name)
		return true
	}
	if o.many == nil {
		o.many = make(map[string]struct{}, 2*fewNames)
		for _, other := range mine {
			o.many[string(other)] = struct{}{}
		}
	}
	if _, twice := o.many[string(name)]; twice {
		return false
	}
	o.many[string(name)] = struct{}{}
	return true
}
