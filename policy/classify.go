package policy

// The classes of an error. What the store says comes first; a pattern is only
// an operator's reading of text that an attacker may have written, so among
// patterns the class that hopes for least wins.
const (
	permanent = "permanent"
	transient = "transient"
	notFailed = "not_failed"
	unknown   = "unknown"
)

// Classify gives an error its class, and the code that people are shown: that
// of the first pattern of this class that matches, else none. verdict is the
// store's own class, code and message its raw text, used only to match.
func (p *Policy) Classify(verdict, code, message string) (class, shown string) {
	codes := map[string]string{}
	for _, e := range p.Errors {
		if _, seen := codes[e.Class]; !seen && (code != "" && e.Match.MatchString(code) || message != "" && e.Match.MatchString(message)) {
			codes[e.Class] = e.Code
		}
	}
	switch verdict {
	case permanent, transient, notFailed:
		return verdict, codes[verdict]
	}
	for _, class := range []string{permanent, transient, notFailed} {
		if shown, ok := codes[class]; ok {
			return class, shown
		}
	}
	return unknown, ""
}
