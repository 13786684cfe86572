package backends

import "strings"

// preambles are what runtimes print before the type of an error.
var preambles = []string{
	"Uncaught ", "Unhandled exception. ", "Unhandled Exception: ", "PHP Fatal error:", "Fatal error:",
	`Exception in thread "main" `, "Caused by: ", "thrown: ", "(in promise) ",
}

// leadingType takes the error type off the front of a message, as in
// "TypeError: …", "ActiveRecord::RecordNotFound (…)" or "** (KeyError) …".
// Without one it returns "" and the message.
func leadingType(message string) (typ, rest string) {
	s := withoutPreamble(strings.TrimSpace(message))
	if after, ok := strings.CutPrefix(s, "** ("); ok {
		if typ, rest, ok = strings.Cut(after, ")"); ok && isType(typ) {
			return typ, strings.TrimSpace(rest)
		}
	}
	end := typeEnd(s)
	if typ = s[:end]; !isType(typ) || !endsType(s[end:]) {
		return "", message
	}
	return typ, inner(strings.TrimSpace(strings.TrimPrefix(s[end:], ":")))
}

func withoutPreamble(s string) string {
	if s == "" || strings.IndexByte("UPFECt(", s[0]) < 0 {
		return s
	}
	for range 3 { // "PHP Fatal error:  Uncaught …" has two
		for _, p := range preambles {
			if after, ok := strings.CutPrefix(s, p); ok {
				s = strings.TrimSpace(after)
			}
		}
	}
	return s
}

// typeEnd is the end of the first word: a colon belongs to it only as "::".
func typeEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ', '\n', '\r', '\t':
			return i
		case ':':
			if !strings.HasPrefix(s[i:], "::") {
				return i
			}
			i++
		}
	}
	return len(s)
}

// endsType tells "Timeout: …" from "Timeout while waiting".
func endsType(rest string) bool {
	for _, p := range []string{":", "\n", "\r", " (", " ["} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return rest == ""
}

// inner is what stands in the parentheses of "Type (message)".
func inner(s string) string {
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		return s[1 : len(s)-1]
	}
	return s
}

// endings are how the last word of an error type ends when no namespace
// shows that it is one.
var endings = []string{
	"Error", "Exception", "Violation", "Timeout", "NotFound", "Interrupt", "Iteration",
	"Exit", "Fault", "Failure", "Exceeded", "Refused", "Denied", "Expired",
}

// isType reports whether a word is the name of an error type in the notation
// of a programming language: its last part is capitalised, and it has a
// namespace or ends as such names do.
func isType(s string) bool {
	for s != "" && (s[0] == '*' || s[0] == '&' || s[0] == '\\') {
		s = s[1:]
	}
	if len(s) < 3 || len(s) > 200 || !typeLetters(s) {
		return false
	}
	at := len(s)
	for at > 0 && s[at-1] != '.' && s[at-1] != ':' && s[at-1] != '\\' {
		at--
	}
	last := s[at:]
	if last == "" || last[0] < 'A' || last[0] > 'Z' {
		return false
	}
	if len(last) < len(s) {
		return isLetter(s[0])
	}
	for _, e := range endings {
		if strings.HasSuffix(last, e) {
			return true
		}
	}
	return false
}

func typeLetters(s string) bool {
	for i := range len(s) {
		if c := s[i]; classes[c]&(letter|digit) == 0 && strings.IndexByte(`._:\$/`, c) < 0 {
			return false
		}
	}
	return !strings.Contains(s, "//")
}
