package cli_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// window is how many characters of a secret in a row are a leak, also backwards.
const window = 8

// needles are what must stand nowhere because of a secret, each with what it is.
func needles(secret string) map[string]string {
	out := map[string]string{}
	add := func(what, text string) {
		for i := range len(text) - window + 1 {
			out[text[i:i+window]] = what
		}
	}
	quoted, _ := json.Marshal(secret)
	for what, text := range map[string]string{
		"it": secret, "it as JSON": string(quoted), "it as a query": url.QueryEscape(secret), "it as a path": url.PathEscape(secret),
	} {
		add("part of "+what, text)
		add("part of "+what+", backwards", backwards(text))
	}
	for i := range len(secret) - window + 1 { // in hexadecimal every piece of it shows
		out[hex.EncodeToString([]byte(secret[i:i+window]))] = "part of it in hexadecimal"
		out[strings.ToUpper(hex.EncodeToString([]byte(secret[i:i+window])))] = "part of it in hexadecimal"
	}
	for shift := range 3 { // base64 depends on where in a text it begins
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString([]byte("xxx"[:shift] + secret))
			whole := text[4*min(shift, 1) : len(text)-len(text)%4-4]
			for i := 0; i+12 <= len(whole); i++ {
				out[whole[i:i+12]] = "part of it in base64"
			}
		}
	}
	sum := sha256.Sum256([]byte(secret))
	out[hex.EncodeToString(sum[:])] = "its hash, which can be guessed"
	return out
}

func backwards(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// leak is what a needle is of which secret.
type leak struct{ secret, what string }

// searcher looks for secrets in texts, each secret once in each text.
type searcher struct {
	t       *testing.T
	needles map[int]map[string]leak // by length and text
}

func newSearcher(t *testing.T, secrets ...string) *searcher {
	s := &searcher{t, map[int]map[string]leak{}}
	for _, secret := range secrets {
		for needle, what := range needles(secret) {
			if s.needles[len(needle)] == nil {
				s.needles[len(needle)] = map[string]leak{}
			}
			s.needles[len(needle)][needle] = leak{secret, what}
		}
	}
	return s
}

func (s *searcher) search(where, text string) {
	s.t.Helper()
	told := map[string]bool{}
	for n, needles := range s.needles {
		for i := 0; i+n <= len(text); i++ {
			if l, ok := needles[text[i:i+n]]; ok && !told[l.secret] {
				told[l.secret] = true
				s.t.Errorf("%s\nholds of %q %s: …%.300q", where, l.secret, l.what, text[max(0, i-150):])
			}
		}
	}
}

// TestSearcher: what is looked for is found.
func TestSearcher(t *testing.T) {
	for _, text := range []string{
		"x Kq7zR2vX", "x " + backwards("2vXw9LmT") + " x", hex.EncodeToString([]byte("key=Kq7zR2vXw9LmT4bN")),
		base64.StdEncoding.EncodeToString([]byte(`{"card":"Kq7zR2vXw9LmT4bN"}`)), base64.RawURLEncoding.EncodeToString([]byte(`{"k":"Kq7zR2vXw9LmT4bN"}`)),
		base64.StdEncoding.EncodeToString([]byte(`{"ca":"Kq7zR2vXw9LmT4bN","n":1}`)),
	} {
		found := false
		for needle := range needles(byPlace) {
			found = found || strings.Contains(text, needle)
		}
		if !found {
			t.Errorf("nothing is found in %q", text)
		}
	}
	for _, text := range []string{`p%40ss+%22w%C3%B6rd`, `"p@ss \"wörd\"/+\u003c7%\u0026x\u003e"`} {
		found := false
		for needle := range needles(oddPlace) {
			found = found || strings.Contains(text, needle)
		}
		if !found {
			t.Errorf("nothing is found in %q", text)
		}
	}
}
