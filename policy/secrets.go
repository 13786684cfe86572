package policy

import (
	"regexp"
	"slices"
)

// leak is how one kind of secret looks. It finds what people paste by mistake,
// not what they hide.
type leak struct {
	what string
	re   *regexp.Regexp
}

func leaks() []leak {
	return []leak{
		{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
		{"an AWS access key", regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`)},
		{"a URL with a password", regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s/@:]*:[^\s/@]+@`)},
		{"a password", regexp.MustCompile(`(?i)\b(password|passwd|pwd)\s*=\s*\S`)},
	}
}

// secretIn names the kind of secret that the text of a key looks like, "" for
// none.
func (d *document) secretIn(key, text string) string {
	if text == "" {
		return ""
	}
	secret := []string{"password", "passwd", "secret_access_key", "secret_key", "api_key"}
	if slices.Contains(secret, key) {
		return "a secret"
	}
	for _, l := range d.leaks {
		if l.re.MatchString(text) {
			return l.what
		}
	}
	return ""
}

// isVariable holds for the names of environment variables: capitals, digits
// and underscores.
func isVariable(s string) bool {
	for i, c := range []byte(s) {
		if !(c == '_' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}
