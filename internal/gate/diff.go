package gate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// diffs shows what a change does, a letter at a time.
type diffs struct {
	r      redactor // of the letter
	own    redactor // of the caller's own words: patterns only
	chars  int      // of one value
	places int      // in one letter
	ascii  bool     // spell out characters that may look like others
}

// What of a diff is shown: an agent wrote the change, whoever approves reads it.
func briefDiffs(r redactor) diffs { return diffs{r: r, own: r, chars: 300, places: 40} }

func wholeDiffs(r redactor) diffs {
	return diffs{r: r, own: redactor{Redaction: r.Redaction}, chars: MaxPatchBytes, places: 1000, ascii: true}
}

// diffContext is how many equal characters are kept around a difference.
const diffContext = 20

// text is the byte diff of one letter, fit to be shown: of the shadow, or, for
// people, of bodies in which hidden values are masked.
func (d diffs) text(id string, out changed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "letter %s\n", showID(id))
	for _, path := range out.hidden {
		value := []byte(nil) // whoever set it knows it, and whoever approves must
		if p, err := rawjson.ParsePointer(path); err == nil {
			value, _, _ = rawjson.Get(out.after, p)
		}
		shown := d.show(d.own, value)
		fmt.Fprintf(&b, "%s: set, old value hidden\n+ %s\n%s", d.path(path), clip(shown, 0, d.chars), d.spelled("+", shown))
	}
	if slices.Equal(out.paths, []string{""}) {
		d.pair(&b, out.before, out.after)
		return b.String()
	}
	diff, err := rawjson.Diff(out.before, out.after)
	if err != nil {
		return b.String()
	}
	left := 0
	for _, c := range diff {
		switch {
		case !slices.Contains(out.paths, c.Pointer.String()):
		case left >= d.places:
			left++
		default:
			left++
			fmt.Fprintf(&b, "%s\n", d.path(c.Pointer.String()))
			d.pair(&b, c.Before, c.After)
		}
	}
	if left > d.places {
		fmt.Fprintf(&b, "(%d more places differ)\n", left-d.places)
	}
	return b.String()
}

func (d diffs) path(p string) string { return cut(backends.Sanitise(d.r.text(p)), 200) }

// show is a value with everything hidden; nil is none.
func (d diffs) show(r redactor, v []byte) string {
	if v == nil {
		return "(absent)"
	}
	return backends.Sanitise(r.json(v))
}

// pair shows two values that differ, from where they do.
func (d diffs) pair(b *strings.Builder, before, after []byte) {
	old, now := d.show(d.r, before), d.show(d.r, after)
	from, end := apart(old, now)
	changedOld, changedNow := old[from:len(old)-end], now[from:len(now)-end]
	if utf8.RuneCountInString(old) <= d.chars && utf8.RuneCountInString(now) <= d.chars {
		from, end = 0, 0
	}
	fmt.Fprintf(b, "- %s\n+ %s\n", clip(old[:len(old)-end], from, d.chars), clip(now[:len(now)-end], from, d.chars))
	if old == now {
		b.WriteString("(they differ in what is hidden, or in how a character is written)\n")
	}
	b.WriteString(d.spelled("-", changedOld) + d.spelled("+", changedNow))
}

// spelled is a line in ASCII for text that is not: letters of two scripts can
// look the same.
func (d diffs) spelled(side, s string) string {
	if !d.ascii || strings.IndexFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) < 0 {
		return ""
	}
	return fmt.Sprintf("(%s in ASCII: %s)\n", side, clip(strconv.QuoteToASCII(s), 0, d.chars))
}

// apart is how many bytes two texts have in common in front and at the end, in
// whole characters, less some for context.
func apart(a, b string) (front, back int) {
	for front < min(len(a), len(b)) && a[front] == b[front] {
		front++
	}
	least := min(len(a), len(b)) - front
	for back < least && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	for front > 0 && front < len(a) && !utf8.RuneStart(a[front]) {
		front--
	}
	for back > 0 && !utf8.RuneStart(a[len(a)-back]) {
		back--
	}
	return before(a, front, diffContext), len(a) - skipTo(a, len(a)-back, diffContext)
}

// before is where the n characters in front of s[at:] begin.
func before(s string, at, n int) int {
	for ; at > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return at
}

// skipTo is where the n characters from at on end.
func skipTo(s string, at, n int) int { return at + skip(s[at:], n) }

// clip shows at most so many characters from a byte on, and says what is left out.
func clip(s string, from, chars int) string {
	front, part := "", s[from:]
	if n := utf8.RuneCountInString(s[:from]); n > 0 {
		front = fmt.Sprintf("…(%d characters) ", n)
	}
	if n := utf8.RuneCountInString(part); n > chars {
		part = fmt.Sprintf("%s …(%d more characters)", part[:skip(part, chars)], n-chars)
	}
	return front + part
}
