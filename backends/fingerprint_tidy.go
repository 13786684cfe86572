package backends

import "strings"

// place is the last two parts of a file's path, without line and column, so
// that it stays the same wherever the program is installed.
func place(path string) string {
	path, _, _ = strings.Cut(path, "?")
	for range 2 {
		if i := strings.LastIndexByte(path, ':'); i > 0 && allDigits(path[i+1:]) {
			path = path[:i]
		}
	}
	path = strings.ReplaceAll(path, `\`, "/")
	dir := strings.LastIndexByte(path, '/')
	if dir > 0 {
		dir = strings.LastIndexByte(path[:dir], '/')
	}
	return tidy(path[dir+1:])
}

// tidy drops what a compiler made up from a name: numbers of closures,
// addresses, hashes.
func tidy(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		j := i
		for j < len(name) && (isWord(name[j]) || name[j] == '_') {
			j++
		}
		if j == i {
			b.WriteByte(name[i])
			i++
			continue
		}
		b.WriteString(tidyPart(name[i:j]))
		i = j
	}
	return strings.Trim(b.String(), " ./:$-#")
}

func tidyPart(s string) string {
	bare := strings.TrimRight(s, "0123456789")
	switch {
	case bare == "" || isHash(s) || s[0] == 'h' && len(s) == 17 && isHash(s[1:]): // Rust: ::h…
		return ""
	case strings.HasPrefix(s, "0x") && len(s) > 2:
		return ""
	case strings.Contains(s, "__"): // .NET: <Run>d__5, c__DisplayClass3_0
		return strings.TrimRight(s, "0123456789_")
	case bare == "func" || bare == "gowrap" || bare == "Proxy" || bare == "Lambda" || bare == "lambda":
		return bare
	}
	return s
}

// isHash recognises a hexadecimal hash, which has a digit or is long.
func isHash(s string) bool {
	digits := 0
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
		if isDigit(s[i]) {
			digits++
		}
	}
	return len(s) >= 6 && digits > 0 || len(s) >= 16
}

func endsInDigit(s string) bool {
	s = strings.TrimSuffix(s, ")")
	return s != "" && isDigit(s[len(s)-1])
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
func isWord(c byte) bool   { return isDigit(c) || isLetter(c) }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
