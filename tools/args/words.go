package args

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const maxQuoted = 80 // bytes of a client's own words in a sentence

// describe names the kind of a value, not the value.
func describe(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	case '[':
		return "a list"
	case '{':
		return "an object"
	}
	return "null; leave it out instead"
}

// quote shows a client's own words: ASCII and short.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.QuoteToASCII(s[:maxQuoted]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

func clip(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}

// shown is an argument's name in a sentence: in backticks if it is a plain one.
func shown(name string) string {
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return quote(name)
		}
	}
	if name == "" || len(name) > maxQuoted {
		return quote(name)
	}
	return "`" + name + "`"
}

// nearest is the known name that was probably meant: the same but for case and
// separators, or one or two letters off.
func nearest(name string, known []string) string {
	if len(name) > maxQuoted {
		return ""
	}
	best, least := "", 3
	for _, k := range known {
		d := distance(plain(name), plain(k))
		if d < least && d < len(k)/2+1 {
			best, least = k, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// distance is the Levenshtein distance of two short strings.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
