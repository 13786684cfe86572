package rawjson_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

func TestParsePointer(t *testing.T) {
	cases := []struct {
		text string
		want []string
	}{
		{"", []string{}},
		{"/", []string{""}},
		{"//", []string{"", ""}},
		{"/foo/0", []string{"foo", "0"}},
		{"/a~1b", []string{"a/b"}},
		{"/m~0n", []string{"m~n"}},
		{"/~01", []string{"~1"}},
		{"/~10~00", []string{"/0~0"}},
		{"/c%d", []string{"c%d"}},
		{`/i\j`, []string{`i\j`}},
		{"/é/*/-", []string{"é", "*", "-"}},
	}
	for _, c := range cases {
		p, err := rawjson.ParsePointer(c.text)
		if err != nil || !slices.Equal(p.Tokens(), c.want) || p.String() != c.text {
			t.Errorf("ParsePointer(%q) = %q, %v, want %q", c.text, p.Tokens(), err, c.want)
		}
	}
}

func TestParsePointerRefuses(t *testing.T) {
	for _, text := range []string{"a", "a/b", "#/a", " /a", "/~", "/~2", "/a~", "/~~0", "/a/~x/b", "/\xff", "/\xed\xa0\xbd\xed\xb8\x80"} {
		_, err := rawjson.ParsePointer(text)
		if err == nil {
			t.Errorf("ParsePointer(%q) was accepted", text)
			continue
		}
		if !utf8.ValidString(err.Error()) {
			t.Errorf("ParsePointer(%q): the error is not quoted: %v", text, err)
		}
		if _, err := rawjson.ParsePattern(text); err == nil {
			t.Errorf("ParsePattern(%q) was accepted", text)
		}
	}
}

func TestPointerFamily(t *testing.T) {
	cases := []struct {
		p, q                string
		equal, under, above bool // p = q; q is p or above it; p is q or above it
	}{
		{"", "", true, true, true},
		{"/a", "", false, true, false},
		{"/a", "/a", true, true, true},
		{"/a/b", "/a", false, true, false},
		{"/ab", "/a", false, false, false},
		{"/a/b/c", "/a/x", false, false, false},
		{"/x/b", "/a/b", false, false, false},
		{"/a~1b", "/a/b", false, false, false},
		{"/0", "/00", false, false, false},
	}
	for _, c := range cases {
		p, q := ptr(t, c.p), ptr(t, c.q)
		if p.Equal(q) != c.equal || p.HasPrefix(q) != c.under || q.HasPrefix(p) != c.above ||
			p.Related(q) != (c.under || c.above) || q.Related(p) != (c.under || c.above) {
			t.Errorf("%q and %q: equal %v, under %v, above %v", c.p, c.q, p.Equal(q), p.HasPrefix(q), q.HasPrefix(p))
		}
	}
}

func TestPointerSteps(t *testing.T) {
	var root rawjson.Pointer
	if !root.IsRoot() || !root.Parent().IsRoot() || root.String() != "" {
		t.Errorf("the zero pointer is not the root: %q", root)
	}
	p := root.Child("a/b")
	left, right := p.Child("l"), p.Child("~")
	if left.String() != "/a~1b/l" || right.String() != "/a~1b/~0" || p.String() != "/a~1b" {
		t.Errorf("children share more than their beginning: %q %q %q", left, right, p)
	}
	if left.IsRoot() || !left.Parent().Equal(right.Parent()) || !left.Parent().Parent().IsRoot() {
		t.Errorf("parents of %q and %q", left, right)
	}
}

func TestPattern(t *testing.T) {
	cases := []struct {
		pattern, pointer       string
		match, covers, related bool
	}{
		{"", "", true, true, true},
		{"", "/a", false, true, true},
		{"/a", "", false, false, true},
		{"/a", "/a", true, true, true},
		{"/a", "/a/b", false, true, true},
		{"/a", "/b", false, false, false},
		{"/items/*/price", "/items/0/price", true, true, true},
		{"/items/*/price", "/items/0/price/eur", false, true, true},
		{"/items/*/price", "/items/0", false, false, true},
		{"/items/*/price", "/items/-", false, false, true},
		{"/items/*/price", "/items/0/name", false, false, false},
		{"/items/*/price", "/others/0/price", false, false, false},
		{"/*", "/", true, true, true},
		{"/*", "/*", true, true, true},
		{"/a*", "/ab", false, false, false},
		{"/a*", "/a*", true, true, true},
		{"/*/*", "/a", false, false, true},
		{"/~1/*", "/~1/x", true, true, true},
	}
	for _, c := range cases {
		pat, p := patterns(t, c.pattern)[0], ptr(t, c.pointer)
		if pat.Match(p) != c.match || pat.Covers(p) != c.covers || pat.Related(p) != c.related || pat.String() != c.pattern {
			t.Errorf("%q on %q: match %v, covers %v, related %v", c.pattern, c.pointer, pat.Match(p), pat.Covers(p), pat.Related(p))
		}
	}
}

// A string escape can spell a lone surrogate; such a name must be reachable,
// and no pointer may become the name of another member.
func TestLoneSurrogateNames(t *testing.T) {
	doc := `{"\ud800":1,"\udc00":2,"\ufffd":3}`
	got, err := apply(doc, `[{"op":"remove","path":"/\uDC00"},{"op":"add","path":"/x\ud801","value":4}]`)
	if want := `{"\ud800":1,"\ufffd":3,"x\ud801":4}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, token := range []string{"\xff", "\xed\xa0\xbd\xed\xb8\x80", "\xed\xa0"} {
		if got, err := rawjson.Add([]byte(`{"😀":1}`), rawjson.Pointer{}.Child(token), []byte("2")); err == nil {
			t.Errorf("Add of the name %q made %s", token, got)
		}
	}
}

func FuzzPointer(f *testing.F) {
	for _, s := range []string{"", "/", "/a~1b/~0/0", "/*/-", "/~01", "/~", "a", "/\xed\xa0\x80", "/é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := rawjson.ParsePointer(s)
		if err != nil {
			return
		}
		want, err := refTokens(s)
		if err != nil || !slices.Equal(p.Tokens(), want) && len(want) > 0 {
			t.Fatalf("ParsePointer(%q) has tokens %q, want %q, %v", s, p.Tokens(), want, err)
		}
		if p.String() != s {
			t.Fatalf("ParsePointer(%q).String() = %q", s, p)
		}
		pat, err := rawjson.ParsePattern(s)
		if err != nil || !pat.Match(p) || !pat.Covers(p.Child("x")) || !pat.Related(p.Parent()) {
			t.Fatalf("pattern %q does not match itself, %v", s, err)
		}
		doc := []byte("1")
		for q := p; !q.IsRoot(); q = q.Parent() {
			name := rawjson.Pointer{}.Child(q.Tokens()[len(q.Tokens())-1])
			if doc, err = rawjson.Add([]byte("{}"), name, doc); err != nil {
				return // deeper than a document may be
			}
		}
		if v, ok, err := rawjson.Get(doc, p); !ok || err != nil || string(v) != "1" {
			t.Fatalf("Get(%s, %q) = %s, %v, %v", doc, s, v, ok, err)
		}
	})
}
