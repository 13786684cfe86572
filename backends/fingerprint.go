package backends

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// How much of a symptom is looked at, in bytes, so that a hostile text costs
// no more than a long one.
const (
	maxMessage = 8 << 10
	maxStack   = 16 << 10
	maxField   = 1 << 10
	maxLabel   = 120 // characters
)

// Symptom is what a fingerprint is taken from, already redacted.
type Symptom struct {
	Code    string // the store's own code or error type
	Message string // may hold a stack behind the message
	Stack   string // in the notation of the language that wrote it
	Queue   string // used only if there is no reason, like Job and Shape
	Job     string
	Shape   string // of the payload, e.g. {id,total}
}

// Fingerprint names the error group of a symptom: 12 lower-case hexadecimal
// digits of the SHA-256 over "v1", the kind and the normal form. The label is
// the normal form for people, sanitised, on one line, at most 120 characters.
//
// The normal form is, in this order:
//   - frame: the error type (without one, the message) and the first stack
//     frame outside of the language's own runtime, without line numbers,
//   - message: code, type and message with their variable parts replaced,
//   - origin: queue, job and payload shape, where no reason was given.
//
// It depends on nothing but the symptom: every process gives the same answer.
func Fingerprint(s Symptom) (fp, label string) { return new(Fingerprints).Of(s) }

// Fingerprints gives the same fingerprints for many symptoms in a fraction of the
// time: it remembers the groups that it has met, a bounded number of them. It is
// for one goroutine.
type Fingerprints struct {
	met  map[string][2]string // fingerprint and label by kind and normal form
	form []byte
	pass pass
}

// maxMet bounds the groups that are remembered.
const maxMet = 10_000

// Of is Fingerprint.
func (f *Fingerprints) Of(s Symptom) (fp, label string) {
	f.form = f.normalForm(f.form[:0], s)
	if g, ok := f.met[string(f.form)]; ok {
		return g[0], g[1]
	}
	sum := sha256.Sum256(append([]byte("v1\x00"), f.form...))
	_, form, _ := strings.Cut(string(f.form), "\x00")
	fp, label = hex.EncodeToString(sum[:6]), shorten(form)
	if f.met == nil {
		f.met = map[string][2]string{}
	}
	if len(f.met) < maxMet {
		f.met[string(f.form)] = [2]string{fp, label}
	}
	return fp, label
}

// normalForm appends the kind, NUL and the normal form.
func (f *Fingerprints) normalForm(b []byte, s Symptom) []byte {
	why := reasonOf(s)
	switch {
	case why.frame != "" && why.typ != "":
		return append(append(append(append(b, "frame\x00"...), why.head()...), " at "...), why.frame...)
	case why.frame != "":
		text := append(append(appendJoined(nil, why.head(), f.pass.normal(why.text)), " at "...), why.frame...)
		return append(append(b, "frame\x00"...), bytes.TrimSpace(text)...)
	}
	const message = "message\x00"
	if b = appendJoined(append(b, message...), why.head(), f.pass.normal(why.text)); len(b) > len(message) {
		return b
	}
	b = append(append(b[:0], "origin\x00no reason; queue "...), bound(s.Queue, maxField)...)
	if s.Job != "" {
		b = append(append(b, "; job "...), bound(s.Job, maxField)...)
	}
	if s.Shape != "" {
		b = append(append(b, "; shape "...), bound(s.Shape, maxMessage)...)
	}
	return b
}

// reason is a symptom taken apart.
type reason struct{ code, typ, text, frame string }

func reasonOf(s Symptom) reason {
	text, stack := bound(s.Message, maxMessage), bound(s.Stack, maxStack)
	var trace trace
	if strings.TrimSpace(stack) != "" {
		trace = traceOf(stack)
	} else if trace = traceOf(text); trace.found { // some stores keep both in one column
		text = ""
	}
	if strings.TrimSpace(text) == "" {
		text = bound(trace.text, maxMessage)
	}
	why := reason{text: text, frame: trace.frame}
	own, rest := leadingType(text)
	header := own
	if trace.text != text {
		header, _ = leadingType(trace.text)
	}
	code := strings.TrimSpace(bound(s.Code, maxField))
	switch {
	case isType(code):
		why.typ = code
	case header != "":
		why.code, why.typ = codeForm(code), header
	default:
		why.code, why.typ = codeForm(code), own
	}
	if own == why.typ {
		why.text = rest
	}
	return why
}

func (w reason) head() string { return joined(w.code, w.typ) }

// codeForm keeps a code such as 23505 or ECONNREFUSED as it is. What is no
// single short word is a message in the wrong place.
func codeForm(code string) string {
	if len(code) <= 64 && !strings.ContainsAny(code, " \t\r\n") {
		return code
	}
	return normal(code)
}

func joined(a, b string) string {
	if a == "" || b == "" || a == b {
		return cmp.Or(a, b)
	}
	return a + ": " + b
}

func appendJoined(to []byte, a string, b []byte) []byte {
	switch {
	case a == "" || a == string(b):
		return append(to, b...)
	case len(b) == 0:
		return append(to, a...)
	}
	return append(append(append(to, a...), ": "...), b...)
}

// bound cuts s to n bytes and makes it valid UTF-8.
func bound(s string, n int) string {
	if len(s) > n {
		for range utf8.UTFMax - 1 { // not through a character
			if utf8.RuneStart(s[n]) {
				break
			}
			n--
		}
		s = s[:n]
	}
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// shorten makes one printable line of at most maxLabel characters.
func shorten(s string) string {
	s = Sanitise(strings.Join(strings.Fields(s), " "))
	n := 0
	for i := range s {
		if n++; n == maxLabel && utf8.RuneCountInString(s[i:]) > 1 {
			return s[:i] + "…"
		}
	}
	return s
}
