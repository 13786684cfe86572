package rawjson

import "fmt"

const anyToken = "*"

// Pattern is a pointer in which a whole token * stands for any one token, so
// /items/*/price means the price of every item. A member that is really named
// * can only be reached by *, which also reaches its siblings. The zero value
// names the whole document.
type Pattern struct{ tokens []string }

// ParsePattern reads a pattern; the rules are those of [ParsePointer].
func ParsePattern(s string) (Pattern, error) {
	tokens, err := splitTokens(s)
	if err != nil {
		return Pattern{}, fmt.Errorf("JSON pointer pattern %q %w", s, err)
	}
	return Pattern{tokens}, nil
}

func (pat Pattern) String() string { return joinTokens(pat.tokens) }

// Match says whether p is a place that the pattern names.
func (pat Pattern) Match(p Pointer) bool {
	return p.len() == len(pat.tokens) && pat.agrees(p)
}

// Covers says whether the pattern names p or an ancestor of p.
func (pat Pattern) Covers(p Pointer) bool {
	return p.len() >= len(pat.tokens) && pat.agrees(p)
}

// Related says whether p is a place that the pattern names, or lies above or
// below one.
func (pat Pattern) Related(p Pointer) bool { return pat.agrees(p) }

// agrees compares as many tokens as both have.
func (pat Pattern) agrees(p Pointer) bool {
	for s := p.first(len(pat.tokens)).last; s != nil; s = s.up {
		if !pat.accepts(s.n-1, s.token) {
			return false
		}
	}
	return true
}

func (pat Pattern) accepts(i int, token string) bool {
	return pat.tokens[i] == anyToken || pat.tokens[i] == token
}
