package policy

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// scan looks at the bytes before YAML does: for what a reader of the file would
// not see as YAML reads it, and for secrets in comments, which YAML drops. It
// stops at the first character that it refuses.
func (d *document) scan(data []byte) bool {
	text := bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark is how some editors say UTF-8
	line := 1
	for rest := range bytes.Lines(text) {
		column := 1
		for i := 0; i < len(rest); column++ {
			r, size := utf8.DecodeRune(rest[i:])
			lineEnd := r == '\r' && i+2 == len(rest) && rest[i+1] == '\n'
			switch {
			case r == utf8.RuneError && size == 1:
				d.faultAt(position{line, column}, "the file is not UTF-8", "save it as UTF-8")
				return false
			case hides(r) && !lineEnd:
				d.faultAt(position{line, column}, fmt.Sprintf("the file holds the invisible character %U", r), "remove it; an expression can spell it "+spelling(r))
				return false
			}
			i += size
		}
		d.scanComment(line, rest)
		line++
	}
	return true
}

// scanComment looks for secrets from a # to the end of its line. A # inside
// quotes counts as well: what looks like a secret behind it is one mostly.
func (d *document) scanComment(line int, text []byte) {
	for i, c := range text {
		if c != '#' || i > 0 && text[i-1] != ' ' && text[i-1] != '\t' {
			continue
		}
		if what := d.secretIn("", string(text[i:])); what != "" {
			column := utf8.RuneCount(text[:i]) + 1
			d.faultAt(position{line, column}, "a comment holds "+what, "remove it, and change the secret: it was in a file")
		}
		return
	}
}

// hides holds for characters that a screen does not show, or that make it show
// others in another order or on another line; the joiners of scripts that need
// them are none of these.
func hides(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf) || r&0xfffe == 0xfffe // the latter are no characters
}

func spelling(r rune) string { return fmt.Sprintf(`\x{%x}`, r) }
