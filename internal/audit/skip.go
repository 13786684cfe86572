package audit

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
