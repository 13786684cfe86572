package backends

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a string that came out of a store: hostile until proven otherwise.
// Its raw value is hidden. Printing and marshalling it in any way gives the
// sanitised form, so that no terminal escape, bidirectional override or
// invisible character reaches a person or a model by accident.
//
// The value is behind a pointer because package fmt calls no method of an
// unexported field: of such a Text it prints an address. Texts cannot be compared
// with ==, which would compare addresses too.
type Text struct {
	_   [0]func()
	raw *string
}

// Hostile wraps a string that a store returned.
func Hostile(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{raw: &s}
}

// Raw is the string as the store holds it. Only stores and the gate may call
// it: the gate to redact, match and compare before anything is shown.
func (t Text) Raw() string {
	if t.IsZero() {
		return ""
	}
	return *t.raw
}

// IsZero reports whether the store had no such text.
func (t Text) IsZero() bool { return t.raw == nil }

// String is the sanitised text.
func (t Text) String() string { return Sanitise(t.Raw()) }

// Format makes every verb of package fmt print the sanitised text; %q quotes it.
func (t Text) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprintf(f, "%+q", t.String())
		return
	}
	fmt.Fprint(f, t.String())
}

// MarshalText gives the sanitised text to encoders.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Sanitise makes text from a store safe to print: control characters (C0, C1,
// DEL) but tab and newline, format characters (bidirectional overrides, zero
// width, tags), private use, line and paragraph separators, and invalid UTF-8
// become visible escapes such as \x1b or \u202e. So do the joiners and variation
// selectors of emoji, which can carry hidden text. Printable text stays as it
// is: a backslash too, so an escape does not prove what was there.
func Sanitise(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case shown(r):
			b.WriteString(s[i : i+n])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

func clean(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			return cleanRunes(s)
		}
	}
	return true
}

func cleanRunes(s string) bool {
	for i, r := range s {
		if !shown(r) {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// shown reports whether a rune may reach a reader as it is. Letters and marks
// without a glyph are hidden carriers of text, so they are escaped like format
// characters: those that Unicode calls default ignorable, and the blank ones
// of Braille, Khitan, Egyptian and musical notation.
func shown(r rune) bool {
	switch r {
	case '\n', '\t':
		return true
	case 0x2800, 0x16fe4, 0x13441, 0x13442, 0x1d159:
		return false
	}
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
