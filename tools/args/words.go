package args

import (
	"strconv"

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
