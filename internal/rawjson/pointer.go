package rawjson

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pointer is a parsed JSON Pointer (RFC 6901). The zero value points at the
// whole document. Pointers share their beginnings, so a million of them into
// one deep place cost no more than a million last tokens. Compare them with
// [Pointer.Equal], not with ==.
type Pointer struct{ last *step }

// step is one token; n counts the steps from the root up to here.
type step struct {
	up    *step
	token string
	n     int
}

// ParsePointer reads "" or a text that starts with "/". A ~ that is not part
// of ~0 or ~1 is an error, as is text that could not be a name in JSON.
func ParsePointer(s string) (Pointer, error) {
	tokens, err := splitTokens(s)
	if err != nil {
		return Pointer{}, fmt.Errorf("JSON pointer %q %w", s, err)
	}
	var p Pointer
	for _, token := range tokens {
		p = p.Child(token)
	}
	return p, nil
}

// splitTokens splits and unescapes the text of a pointer.
func splitTokens(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("must be empty or start with /")
	}
	tokens := strings.Split(s[1:], "/")
	for i, raw := range tokens {
		if strings.Count(raw, "~") != strings.Count(raw, "~0")+strings.Count(raw, "~1") {
			return nil, fmt.Errorf("has a ~ that is neither ~0 nor ~1")
		}
		// ~1 first: ~01 is the name ~1, not /.
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(raw, "~1", "/"), "~0", "~")
		if utf8.ValidString(raw) {
			continue
		}
		if _, err := quote(tokens[i]); err != nil {
			return nil, fmt.Errorf("is not UTF-8")
		}
	}
	return tokens, nil
}

// joinTokens is the inverse of splitTokens.
func joinTokens(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// String is the pointer's text, escaped as RFC 6901 says.
func (p Pointer) String() string { return joinTokens(p.Tokens()) }

// Tokens are the unescaped names and indexes from the root down.
func (p Pointer) Tokens() []string {
	tokens := make([]string, p.len())
	for s := p.last; s != nil; s = s.up {
		tokens[s.n-1] = s.token
	}
	return tokens
}

// IsRoot says whether p points at the whole document.
func (p Pointer) IsRoot() bool { return p.last == nil }

// Parent is the pointer without its last token; the root is its own parent.
func (p Pointer) Parent() Pointer {
	if p.last == nil {
		return p
	}
	return Pointer{p.last.up}
}

// Child is the pointer with one more token, unescaped.
func (p Pointer) Child(token string) Pointer {
	return Pointer{&step{up: p.last, token: token, n: p.len() + 1}}
}

// Equal says whether p and q have the same tokens.
func (p Pointer) Equal(q Pointer) bool {
	return p.len() == q.len() && p.HasPrefix(q)
}

// HasPrefix says whether q is p or an ancestor of p.
func (p Pointer) HasPrefix(q Pointer) bool {
	if q.len() > p.len() {
		return false
	}
	a, b := p.first(q.len()).last, q.last
	for ; a != b; a, b = a.up, b.up { // equal steps share the rest
		if a.token != b.token {
			return false
		}
	}
	return true
}

// Related says whether one of p and q is the other or an ancestor of it.
func (p Pointer) Related(q Pointer) bool { return p.HasPrefix(q) || q.HasPrefix(p) }

func (p Pointer) len() int {
	if p.last == nil {
		return 0
	}
	return p.last.n
}

// first is the ancestor of p that has n tokens.
func (p Pointer) first(n int) Pointer {
	for p.len() > n {
		p = p.Parent()
	}
	return p
}
