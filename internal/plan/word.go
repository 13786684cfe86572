package plan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Word is foreign text as a JSON string of printable ASCII. Of more than longest
// characters it is the first ones, and three dots behind the string say so.
func Word(text string, longest int) string {
	if r := []rune(text); len(r) > longest {
		return `"` + escape(string(r[:longest])) + `"...`
	}
	return `"` + escape(text) + `"`
}

// ascii is text as it stands where it is printable ASCII, else escaped as within
// a JSON string, so that no value can start a line of its own or move the cursor.
// Two values never read the same: one with a backslash is always escaped.
func ascii(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e || r == '\\' }) {
		return escape(text)
	}
	return text
}

// escape writes text as the inside of a JSON string (RFC 8259, section 7) in
// printable ASCII. Bytes that are no UTF-8 become U+FFFD.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r >= 0x20 && r <= 0x7e:
			b.WriteByte(byte(r))
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}

// lossy says whether JSON of encoding/json stands for bytes that are no UTF-8:
// those it writes as an escape, the character U+FFFD itself as it is.
func lossy(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] == '\\' {
			if bytes.HasPrefix(data[i:], []byte(`\ufffd`)) {
				return true
			}
			i++
		}
	}
	return false
}
