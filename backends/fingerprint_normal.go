package backends

import "strings"

// pass is the one walk over a message that replaces its variable parts.
type pass struct {
	in  string
	pos int
	out []byte

	mark         string // the last placeholder and where it stands in out
	from, to     int
	word         string // the last plain word and where it ends in out
	wordEnd      int
	unclosedTill [3]int // per quote: up to there no closing one is to come
}

// normal is a message on one line with every variable part replaced: <n> a
// number, <id> a UUID, hash, token or other made-up name, <hex> an address,
// <str> what was quoted, <ip>, <email>, <time>, <dur> a duration. Lists of
// equal parts count as one. A number that names an error ("status code 503",
// "SQLSTATE 23505", "exit status 1") stays.
func normal(message string) string { return string(new(pass).normal(message)) }

// normal gives bytes that hold until the next call.
func (p *pass) normal(message string) []byte {
	*p = pass{in: withoutDetail(message), out: p.out[:0]}
	for p.pos < len(p.in) {
		p.step()
	}
	from, to := 0, len(p.out)
	for from < to && isEdge(p.out[from]) {
		from++
	}
	for from < to && isEdge(p.out[to-1]) {
		to--
	}
	return p.out[from:to]
}

// isEdge reports what does not count at the ends of a normal form.
func isEdge(c byte) bool { return c == ' ' || c == '.' || c == ':' }

// withoutDetail cuts what PostgreSQL appends on lines of their own: DETAIL
// quotes values of the row, and the lines behind it follow its wording.
func withoutDetail(s string) string {
	if i := strings.Index(s, "\nDETAIL:"); i > 0 {
		return s[:i]
	}
	return s
}

// class is what a byte is to the walk.
type class uint16

const (
	letter class = 1 << iota // of ASCII, and all that is not ASCII
	digit
	blank // white space and control characters
	quote
	separator
	trailing // punctuation that does not count at the end of a word
	at
	slash
	colon
	sign // all else

	ends = blank | quote | separator // a word ends before it
)

var classes = func() (t [256]class) {
	for c := range t {
		b := byte(c)
		switch {
		case isDigit(b):
			t[c] = digit
		case isLetter(b):
			t[c] = letter
		case b <= ' ' || b == 0x7f:
			t[c] = blank
		case strings.IndexByte("\"'`", b) >= 0:
			t[c] = quote
		case strings.IndexByte("(){}[]<>,;=|", b) >= 0:
			t[c] = separator
		case b == '@':
			t[c] = at
		case b == '/':
			t[c] = slash
		case b == ':':
			t[c] = colon | trailing
		case strings.IndexByte(".!?-", b) >= 0:
			t[c] = sign | trailing
		default:
			t[c] = sign
		}
	}
	return t
}()

func (p *pass) step() {
	c := p.in[p.pos]
	switch classes[c] & ends {
	case 0:
		p.chunk()
	case blank:
		if c == 0x1b {
			p.escape()
		} else {
			p.space()
		}
	case quote:
		if !p.quoted(c) {
			p.plain(1)
		}
	default:
		if c != '[' || !p.bracketed() {
			p.plain(1)
		}
	}
}

// plain copies n bytes.
func (p *pass) plain(n int) {
	p.out = append(p.out, p.in[p.pos:p.pos+n]...)
	p.pos += n
}

func (p *pass) space() {
	p.pos++
	if n := len(p.out); n > 0 && p.out[n-1] != ' ' {
		p.out = append(p.out, ' ')
	}
}

// escape skips a terminal's control sequence, ESC [ parameters letter.
func (p *pass) escape() {
	p.pos++
	if !strings.HasPrefix(p.in[p.pos:], "[") {
		return
	}
	for p.pos++; p.pos < len(p.in); p.pos++ {
		if c := p.in[p.pos]; c >= '@' && c <= '~' {
			p.pos++
			return
		}
	}
}

// quoted replaces a quotation on one line. An apostrophe within a word opens
// none.
func (p *pass) quoted(open byte) bool {
	kind := strings.IndexByte("\"'`", open)
	if p.pos < p.unclosedTill[kind] || open == '\'' && p.afterWord() {
		return false
	}
	for i := p.pos + 1; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '\\':
			i++
		case c == '\n':
			p.unclosedTill[kind] = i
			return false
		case p.closes(open, i):
			p.pos = i + 1
			p.put("<str>")
			return true
		}
	}
	p.unclosedTill[kind] = len(p.in)
	return false
}

// closes reports whether the byte at i ends a quotation. Ruby up to 3.3
// opened with a back quote and closed with an apostrophe.
func (p *pass) closes(open byte, i int) bool {
	switch c := p.in[i]; {
	case c == '\'' && open != '"':
		return i+1 == len(p.in) || !isWord(p.in[i+1])
	default:
		return c == open
	}
}

// afterWord reports whether a word ends at pos, other than the prefix of a
// Python literal such as b'…'.
func (p *pass) afterWord() bool {
	i := p.pos
	if i == 0 || !isWord(p.in[i-1]) {
		return false
	}
	literal := strings.IndexByte("bur", p.in[i-1]) >= 0 && (i == 1 || !isWord(p.in[i-2]))
	return !literal
}

// bracketed replaces an IPv6 address in brackets with its port.
func (p *pass) bracketed() bool {
	s := p.in[p.pos:min(len(p.in), p.pos+56)]
	end := strings.IndexByte(s, ']')
	if end < 0 || !isAddress(s[1:end]) {
		return false
	}
	p.pos += end + 1
	if strings.HasPrefix(p.in[p.pos:], ":") {
		for p.pos++; p.pos < len(p.in) && isDigit(p.in[p.pos]); {
			p.pos++
		}
	}
	p.put("<ip>")
	return true
}

// put appends a placeholder, or lets it go into the one before if they form a
// list: 1, 2, 3 is one <n>, a date and a time of day are one <time>.
func (p *pass) put(mark string) {
	if p.mark != "" {
		if one := merged(p.mark, mark, p.out[p.to:]); one != "" {
			mark, p.out = one, p.out[:p.from]
		}
	}
	p.mark, p.from = mark, len(p.out)
	p.out = append(p.out, mark...)
	p.to = len(p.out)
}

func merged(a, b string, between []byte) string {
	if len(between) > 2 {
		return ""
	}
	for _, c := range between {
		if strings.IndexByte(" ,-_.:/+", c) < 0 {
			return ""
		}
	}
	gap := string(between)
	switch {
	case a == b:
		return a
	case a == "<time>" && b == "<n>", a == "<n>" && b == "<time>":
		return "<time>"
	case strings.Trim(gap, "-_") == "" && (a == "<id>" && b == "<n>" || a == "<n>" && b == "<id>"):
		return "<id>"
	}
	return ""
}
