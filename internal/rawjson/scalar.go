package rawjson

import "bytes"

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.doc[s.pos:], []byte(word)) {
		return s.fail(KindNotJSON)
	}
	s.pos += len(word)
	return nil
}

// number reads RFC 8259 §6: no leading zero or plus, digits on both sides of a
// point and after an exponent.
func (s *scanner) number() error {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return s.fail(KindNotJSON)
	}
	if s.take('.') && !s.digits() {
		return s.fail(KindNotJSON)
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return s.fail(KindNotJSON)
		}
	}
	return nil
}

// digits consumes a run of digits and says whether there was one.
func (s *scanner) digits() bool {
	from := s.pos
	for s.pos < len(s.doc) && isDigit(s.doc[s.pos]) {
		s.pos++
	}
	return s.pos > from
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// str reads a string including its quotes.
func (s *scanner) str() error {
	s.pos++
	for s.pos < len(s.doc) {
		switch c := s.doc[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.fail(KindNotJSON)
		default:
			s.pos++
		}
	}
	return s.fail(KindNotJSON)
}

func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		if _, ok := hex4(s.doc[s.pos:]); ok {
			s.pos += 4
			return nil
		}
	}
	return s.fail(KindNotJSON)
}

// hex4 reads the four hexadecimal digits at the start of b.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
