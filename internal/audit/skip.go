package audit

import (
	"encoding/binary"
	"math/bits"
)

// The functions here return the end of the JSON value that begins at i, or -1
// if there is none. They accept what the writer writes: no whitespace, no
// fractions, no escapes but \" \\ and \uXXXX.

// maxDepth allows a list among the arguments and no more; it bounds the
// recursion on hostile lines.
const maxDepth = 4

func skipString(raw []byte, i int) int {
	if i >= len(raw) || raw[i] != '"' {
		return -1
	}
	for i++; i < len(raw); i++ {
		if i = plain(raw, i); i == len(raw) {
			return -1
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = skipEscape(raw, i); i < 0 {
				return -1
			}
		case c < 0x20 || c > 0x7e:
			return -1
		}
	}
	return -1
}

// plain goes over bytes that stand for themselves in a string, eight at a time:
// strings are most of a log. It stops at the first byte that is not one of them,
// or where fewer than eight are left.
func plain(raw []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(raw); i += 8 {
		w := binary.LittleEndian.Uint64(raw[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// (x-ones)&^x has the high bit of the lowest byte of x that is zero, and
		// likewise for bytes below 0x20. Those above may have it by the borrow,
		// which does not matter. Bytes from 0x7f on have it in the rest.
		special := (quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w | (w + ones) | w
		if special &= highs; special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	return i
}

// skipEscape returns the last byte of an escape.
func skipEscape(raw []byte, i int) int {
	if i+1 >= len(raw) {
		return -1
	}
	switch raw[i+1] {
	case '"', '\\':
		return i + 1
	case 'u':
		if i+5 < len(raw) && isHex(raw[i+2:i+6]) {
			return i + 5
		}
	}
	return -1
}

func isHex(s []byte) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// skipNumber refuses leading zeros, as RFC 8259 does: one number has one form.
func skipNumber(raw []byte, i int) int {
	if i < len(raw) && raw[i] == '-' {
		i++
	}
	start := i
	for i < len(raw) && raw[i] >= '0' && raw[i] <= '9' {
		i++
	}
	if i == start || raw[start] == '0' && i > start+1 {
		return -1
	}
	return i
}

func skipValue(raw []byte, i, depth int) int {
	if i >= len(raw) || depth > maxDepth {
		return -1
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{':
		return skipList(raw, i, '}', depth)
	case '[':
		return skipList(raw, i, ']', depth)
	case 't':
		return skipWord(raw, i, "true")
	case 'f':
		return skipWord(raw, i, "false")
	}
	return skipNumber(raw, i)
}

// skipList goes over an object or an array; end tells which.
func skipList(raw []byte, i int, end byte, depth int) int {
	if i++; i < len(raw) && raw[i] == end {
		return i + 1
	}
	for {
		if end == '}' {
			if i = skipString(raw, i); i < 0 || i >= len(raw) || raw[i] != ':' {
				return -1
			}
			i++
		}
		if i = skipValue(raw, i, depth+1); i < 0 || i >= len(raw) {
			return -1
		}
		switch raw[i] {
		case end:
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

func skipWord(raw []byte, i int, word string) int {
	if end := i + len(word); end <= len(raw) && string(raw[i:end]) == word {
		return end
	}
	return -1
}
