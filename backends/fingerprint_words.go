package backends

import (
	"net/netip"
	"strings"
)

// introduces are words after which a number names the error.
var introduces = map[string]bool{
	"code": true, "statuscode": true, "status": true, "http": true, "sqlstate": true, "errno": true,
	"error": true, "signal": true, "ora": true, "response": true, "errorcode": true, "exitcode": true, "success": true,
}

// known are words with digits that are no numbers.
var known = map[string]bool{
	"s3": true, "ec2": true, "x509": true, "utf8": true, "utf16": true, "sha1": true, "sha256": true,
	"sha512": true, "md5": true, "base64": true, "http2": true, "ipv4": true, "ipv6": true, "oauth2": true,
	"k8s": true, "int32": true, "int64": true, "uint32": true, "uint64": true, "float64": true, "latin1": true,
	"psycopg2": true,
}

// calendar are the names of months and days beside which numbers are times.
var calendar = map[string]bool{
	"Jan": true, "Feb": true, "Mar": true, "Apr": true, "May": true, "Jun": true, "Jul": true, "Aug": true,
	"Sep": true, "Oct": true, "Nov": true, "Dec": true, "Mon": true, "Tue": true, "Wed": true, "Thu": true,
	"Fri": true, "Sat": true, "Sun": true,
}

// isKnown reports whether a word with digits is no number, in whatever case.
func isKnown(s string) bool { return len(s) <= 8 && known[strings.ToLower(s)] }

// markOf is the placeholder of a run of letters and digits that has a digit, "" if
// it is a word.
func markOf(s string) string {
	switch {
	case allDigits(s):
		return "<n>"
	case len(s) > 2 && (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")):
		return "<hex>"
	case isKnown(s):
		return ""
	}
	if n := turns(s); n > 1 || n > 0 && len(s) >= 16 || len(s) >= 8 && isHash(s) {
		return "<id>"
	}
	return ""
}

// turns counts how often letters and digits take turns: random names do so
// more often than names that people number.
func turns(s string) int {
	n := 0
	for i := 1; i < len(s); i++ {
		if isDigit(s[i]) != isDigit(s[i-1]) {
			n++
		}
	}
	return n
}

func isUUID(s string) bool {
	if len(s) < 36 || len(s) > 36 && isWord(s[36]) {
		return false
	}
	for i := range 36 {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	return ok && local != "" && strings.IndexByte(domain, '.') > 0 && !strings.ContainsAny(s, "/:\\")
}

// isAddress recognises IP addresses, alone or with a port or a prefix length.
func isAddress(s string) bool {
	if len(s) > 64 || strings.Count(s, ".") < 3 && strings.Count(s, ":") < 2 {
		return false
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	if _, err := netip.ParseAddrPort(s); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// isTime recognises dates and times of day such as 2024-01-02T03:04:05.678Z,
// 2024/01/02 and 03:04.
func isTime(s string) bool {
	if !isDigit(s[0]) || len(s) > 40 {
		return false
	}
	digits, marks := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case c == '-' || c == ':' || c == '/':
			marks++
		case strings.IndexByte(".TZtz+", c) < 0:
			return false
		}
	}
	return digits >= 4 && (marks >= 2 || len(s) == 5 && s[2] == ':')
}

// isDuration recognises durations such as 1m30s, 250ms and 1.5s.
func isDuration(s string) bool {
	for s != "" {
		n := 0
		for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
			n++
		}
		if n == 0 {
			return false
		}
		u := n
		for u < len(s) && !isDigit(s[u]) && s[u] != '.' {
			u++
		}
		if !isUnit(s[n:u]) {
			return false
		}
		s = s[u:]
	}
	return true
}

func isUnit(s string) bool {
	switch s {
	case "ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "sec", "secs", "min", "mins", "hrs":
		return true
	}
	return false
}

// isToken recognises long words in Base64, which letters in both cases and
// digits tell from paths.
func isToken(s string) bool {
	lower, upper, digits := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case isDigit(c):
			digits++
		case strings.IndexByte("+/_-.", c) < 0:
			return false
		}
	}
	return len(s) >= 32 && lower > 0 && upper > 0 && digits > 0 && (upper+digits)*4 >= len(s)
}
