package gate

import (
	"iter"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLayers is how many layers of escapes are read: JSON in JSON in JSON.
const maxLayers = 3

// decoded is a text, or what it reads when escapes in it are taken away. A value
// can be repeated in any spelling that programs give it, so it is looked for
// behind the escapes as well.
type decoded struct {
	text    string
	escapes []escaped
	under   *decoded // with the escapes; nil: this is the original
}

// escaped are the bytes at..end that stand for an escape at from..to.
type escaped struct{ at, end, from, to int }

// place is where the bytes from..to, which are not none, stand in the original.
func (d *decoded) place(from, to int) (int, int) {
	for ; d.under != nil; d = d.under {
		from, _ = d.byteAt(from)
		_, to = d.byteAt(to - 1)
	}
	return from, to
}

// byteAt is where one byte stands in the layer under this one.
func (d *decoded) byteAt(i int) (from, to int) {
	n := sort.Search(len(d.escapes), func(n int) bool { return d.escapes[n].at > i }) - 1
	if n < 0 {
		return i, i + 1
	}
	e := d.escapes[n]
	if i < e.end {
		return e.from, e.to
	}
	return e.to + i - e.end, e.to + i - e.end + 1
}

// layers are a text and what is behind its escapes.
func layers(d *decoded) iter.Seq[*decoded] {
	return func(yield func(*decoded) bool) {
		for n, ok := 0, true; ok && n <= maxLayers; n++ {
			if !yield(d) {
				return
			}
			if address, ok := d.without(percent, '%'); ok && !yield(address) {
				return
			}
			d, ok = d.without(escape, '\\')
		}
	}
}

// asText and inString are how a text is read: as it is, or as what stands
// between the quotes of a JSON string.
func asText(s string) *decoded { return &decoded{text: s} }

func inString(s string) *decoded {
	if d, ok := asText(s).without(escape, '\\'); ok {
		return d
	}
	return asText(s)
}

// without takes away escapes that begin with mark; ok is false if there is none.
// read returns what an escape stands for and how long it is, 0 for none.
func (d *decoded) without(read func(string) (string, int), mark byte) (out *decoded, ok bool) {
	if strings.IndexByte(d.text, mark) < 0 {
		return nil, false
	}
	out = &decoded{under: d}
	var b strings.Builder
	for i := 0; i < len(d.text); {
		next := strings.IndexByte(d.text[i:], mark)
		if next < 0 {
			b.WriteString(d.text[i:])
			break
		}
		b.WriteString(d.text[i : i+next])
		i += next
		is, n := read(d.text[i:])
		if ok = ok || n > 0; n == 0 {
			is, n = d.text[i:i+1], 1
		}
		out.escapes = append(out.escapes, escaped{b.Len(), b.Len() + len(is), i, i + n})
		b.WriteString(is)
		i += n
	}
	out.text = b.String()
	return out, ok
}

// percent reads %41, as in addresses.
func percent(s string) (string, int) {
	if r, ok := hexAt(s, 1, 2); ok {
		return string([]byte{byte(r)}), 3
	}
	return "", 0
}

// escape reads a backslash and what follows, as JSON, Go, Python, Java and their
// like write it.
func escape(s string) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	if i := strings.IndexByte("nrtbf", s[1]); i >= 0 {
		return "\n\r\t\b\f"[i : i+1], 2
	}
	switch c := s[1]; c {
	case '"', '\'', '\\', '/':
		return s[1:2], 2
	case 'x':
		if r, ok := hexAt(s, 2, 2); ok {
			return string(r), 4
		}
	case 'U':
		if r, ok := hexAt(s, 2, 8); ok {
			return string(r), 10
		}
	case 'u':
		r, ok := hexAt(s, 2, 4)
		if low, pair := hexAt(s, 8, 4); ok && pair && strings.HasPrefix(s[6:], `\u`) {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return string(both), 12
			}
		}
		if ok {
			return string(r), 6
		}
	}
	return "", 0
}

func hexAt(s string, at, n int) (rune, bool) {
	if len(s) < at+n {
		return 0, false
	}
	r, err := strconv.ParseUint(s[at:at+n], 16, 32)
	return rune(r), err == nil
}
