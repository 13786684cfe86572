package rawjson

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a scalar as a reader sees it: a string without quotes and escapes, a
// number or literal as it is written. Lone surrogates become U+FFFD. What is no
// scalar of strict JSON comes back as it is.
func Text(value []byte) string {
	if len(value) > 0 && value[0] == '"' && Check(value) == nil {
		return string(unquote(trim(value), false))
	}
	return string(value)
}

// nameBytes decodes a quoted name so that two names are equal exactly if their
// bytes are. It copies only where there are escapes.
func nameBytes(quoted []byte) []byte { return unquote(quoted, true) }

// unquote decodes a JSON string. With exact, a lone surrogate is written as
// three bytes the way UTF-8 would if it had a place for it (WTF-8), so that
// "\ud800", "\ud801" and "\ufffd" stay three different strings.
func unquote(quoted []byte, exact bool) []byte {
	in := quoted[1 : len(quoted)-1]
	at := bytes.IndexByte(in, '\\')
	if at < 0 {
		return in
	}
	out := append(make([]byte, 0, len(in)), in[:at]...)
	for in = in[at:]; len(in) > 0; {
		if in[0] != '\\' {
			out, in = append(out, in[0]), in[1:]
			continue
		}
		if in[1] != 'u' {
			out, in = append(out, short(in[1])), in[2:]
			continue
		}
		r, size := surrogate(in)
		in = in[size:]
		if exact && utf16.IsSurrogate(r) {
			out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// surrogate reads \uXXXX, or two of them if they are one pair.
func surrogate(in []byte) (r rune, size int) {
	r, _ = hex4(in[2:])
	if bytes.HasPrefix(in[6:], []byte(`\u`)) {
		low, _ := hex4(in[8:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

// short is the byte that a one-letter escape stands for.
func short(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// quote is the JSON string for a name. It is undone to see that nothing was
// lost: a name that is not text must not become another member's name.
func quote(name string) ([]byte, error) {
	out := []byte{'"'}
	for rest := name; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 {
			r, size = loneSurrogate(rest)
			out = fmt.Appendf(out, `\u%04x`, r)
		} else if r < ' ' {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else if r == '"' || r == '\\' {
			out = append(out, '\\', byte(r))
		} else {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	out = append(out, '"')
	if string(unquote(out, true)) != name {
		return nil, fmt.Errorf("name %.80q is not text", name)
	}
	return out, nil
}

// loneSurrogate reads what unquote wrote for one, else U+FFFD and one byte.
func loneSurrogate(s string) (r rune, size int) {
	if len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return utf8.RuneError, 1
}
