package backends

import "strings"

// chunk replaces what stands between spaces, quotes and brackets.
func (p *pass) chunk() {
	start := p.pos
	end, is := p.chunkEnd()
	if is == letter && end-start < 16 { // most are plain words
		p.pos = end
		p.letters(p.in[start:end])
		return
	}
	word := p.in[start:end]
	if is&(colon|slash) == colon|slash && strings.Contains(word, "://") {
		end = p.urlEnd()
	}
	if word = withoutTrailing(p.in[start:end]); word == "" {
		p.plain(end - start)
		return
	}
	p.pos = start + len(word)
	switch {
	case is&(colon|slash) == colon|slash && strings.Contains(word, "://"):
		p.url(word)
	case is&at != 0 && isEmail(word):
		p.put("<email>")
	case is&trailing != 0 && isAddress(word):
		p.put("<ip>")
	case isTime(word):
		p.put("<time>")
	case isDuration(word):
		p.put("<dur>")
	case len(word) >= 32 && isToken(word):
		p.put("<id>")
	case is&slash != 0 && strings.HasPrefix(word, "HTTP/"): // a status follows
		p.literal(word)
		p.word = "http"
	default:
		p.pieces(word)
	}
}

// withoutTrailing takes off the punctuation behind a word.
func withoutTrailing(s string) string {
	for s != "" && classes[s[len(s)-1]]&trailing != 0 {
		s = s[:len(s)-1]
	}
	return s
}

// chunkEnd tells where a chunk ends and what is in it.
func (p *pass) chunkEnd() (end int, is class) {
	in := p.in
	for i := p.pos; i < len(in); i++ {
		k := classes[in[i]]
		if k&ends != 0 {
			if in[i] != '\'' || !p.contraction(i) {
				return max(i, p.pos+1), is
			}
			k = sign
		}
		is |= k
	}
	return len(in), is
}

// contraction recognises the apostrophe of "can't" and "we've".
func (p *pass) contraction(i int) bool {
	if i == p.pos || !isLetter(p.in[i-1]) {
		return false
	}
	n := 0
	for n < 3 && i+1+n < len(p.in) && isWord(p.in[i+1+n]) {
		n++
	}
	return (n == 1 || n == 2) && isLetter(p.in[i+1])
}

func (p *pass) urlEnd() int {
	if n := strings.IndexAny(p.in[p.pos:], " \t\r\n\"'`<>)]}"); n > 0 {
		return p.pos + n
	}
	return len(p.in)
}

// url keeps the scheme, the host and the words of the path. User, port, query
// and fragment are dropped: they vary, and they may hold secrets.
func (p *pass) url(s string) {
	scheme, rest, _ := strings.Cut(s, "://")
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], strings.TrimRight(rest[i:], "/,;")
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i >= 0 && allDigits(host[i+1:]) {
		host = host[:i]
	}
	p.literal(scheme + "://")
	if isAddress(strings.Trim(host, "[]")) {
		p.put("<ip>")
	} else {
		p.pieces(strings.TrimRight(host, ",;"))
	}
	p.pieces(path)
}

// pieces replaces within a word that has several parts, as paths and names
// with dashes do. What is below a folder of users or of temporary files has a
// made-up name.
func (p *pass) pieces(s string) {
	before := ""
	for i := 0; i < len(s); {
		switch {
		case isUUID(s[i:]):
			p.put("<id>")
			i += 36
		case isWord(s[i]) && (before == "home" || before == "Users" || before == "tmp"):
			p.put("<id>")
			before, i = "", i+len(s[i:])-len(strings.TrimLeftFunc(s[i:], notSlash))
		case isWord(s[i]):
			j, is := i, class(0)
			for j < len(s) && classes[s[j]]&(letter|digit) != 0 {
				is |= classes[s[j]]
				j++
			}
			if is&digit == 0 {
				p.letters(s[i:j])
			} else {
				p.piece(s[i:j])
			}
			before, i = s[i:j], j
		case i == 0 && (s[i] == '-' || s[i] == '+') && len(s) > 1 && isDigit(s[1]): // a sign
			i++
		default:
			p.out = append(p.out, s[i])
			if s[i] != '/' && s[i] != '\\' {
				before = ""
			}
			i++
		}
	}
}

func notSlash(r rune) bool { return r != '/' && r != '\\' }

// letters replaces one run of letters alone.
func (p *pass) letters(s string) {
	switch {
	case len(s) == 3 && calendar[s] && p.besideNumber():
		p.put("<time>")
	case len(s) >= 16 && isHash(s):
		p.put("<id>")
	default:
		p.literal(s)
	}
}

// piece replaces one run of letters and digits that has a digit.
func (p *pass) piece(s string) {
	if p.namesError(s) {
		p.out = append(p.out, s...)
		return
	}
	switch mark := markOf(s); {
	case mark != "":
		p.put(mark)
	case !isKnown(s):
		p.numbered(s)
	default:
		p.literal(s)
	}
}

func (p *pass) literal(s string) {
	p.out = append(p.out, s...)
	p.word, p.wordEnd = s, len(p.out)
}

// numbered keeps the letters of a name such as worker7 or 10MB.
func (p *pass) numbered(s string) {
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && isDigit(s[j]) == isDigit(s[i]) {
			j++
		}
		if isDigit(s[i]) {
			p.put("<n>")
		} else {
			p.out = append(p.out, s[i:j]...)
		}
		i = j
	}
}

// besideNumber reports whether a number or time stands right before the word
// or a digit soon after it, as in "Tue, 02 Jan 2024".
func (p *pass) besideNumber() bool {
	if p.mark != "" && (p.mark == "<n>" || p.mark == "<time>") && len(p.out)-p.to == 1 {
		return true
	}
	for _, c := range []byte(p.in[p.pos:min(len(p.in), p.pos+3)]) {
		if isDigit(c) {
			return true
		}
	}
	return false
}

// namesError reports whether a number is an error's name: a status in front
// of the message, or a short number right behind a word such as "code".
func (p *pass) namesError(s string) bool {
	if !isDigit(s[len(s)-1]) && !isDigit(s[0]) || len(s) > 5 {
		return false
	}
	if len(p.out) == 0 {
		return isStatus(s, p.in[p.pos:])
	}
	if !introduces[strings.ToLower(p.word)] {
		return false
	}
	gap := string(p.out[p.wordEnd:])
	return len(gap) <= 3 && strings.Trim(gap, " :=#[(-") == ""
}

// isStatus recognises the status in front of "404 Not Found" and of
// "550 5.1.1 No such user".
func isStatus(s, rest string) bool {
	if len(s) != 3 || !allDigits(s) || s[0] > '5' || len(rest) < 2 || rest[0] != ' ' {
		return false
	}
	return isDigit(rest[1]) || rest[1] >= 'A' && rest[1] <= 'Z'
}
