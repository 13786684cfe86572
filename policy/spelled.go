package policy

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// spelled is one text that an expression matches in most cases: its literals as
// they stand, one of every class, the first branch, the least repetition.
func spelled(re *regexp.Regexp) string {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	spell(&b, tree)
	return b.String()
}

func spell(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus:
		spell(b, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			spell(b, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			spell(b, sub)
		}
	case syntax.OpAlternate:
		spell(b, re.Sub[0])
	}
}
