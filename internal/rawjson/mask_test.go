package rawjson_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

const redacted = `"[redacted]"`

func TestMask(t *testing.T) {
	cases := []struct{ doc, paths, want, hidden string }{
		{`{"card":"4111","n":1}`, "/card", `{"card":"[redacted]","n":1}`, "4111"},
		{`{ "card" : { "no" : "41\u00311", "cvc" : 007e0 } }`, "/card", "", ""},
		{`{ "card" : { "no" : "41\u00311", "cvc" : [7.0, true, null, ""] } , "z":1.10}`, "/card", `{ "card" : "[redacted]" , "z":1.10}`, "4111|7.0"},
		{`{"i":[{"p":1,"q":2},{"p":"1"},{"p":3}]}`, "/i/*/p", `{"i":[{"p":"[redacted]","q":2},{"p":"[redacted]"},{"p":"[redacted]"}]}`, "1|3"},
		{`{"a":{"b":{"c":"x"}},"d":"y"}`, "/a/b/c /a/b /d", `{"a":{"b":"[redacted]"},"d":"[redacted]"}`, "x|y"},
		{`{"a":1,"b":2}`, "/*", `{"a":"[redacted]","b":"[redacted]"}`, "1|2"},
		{` "top" `, "/x ", ` "[redacted]" `, "top"},
		{`{"a":1}`, "/x", `{"a":1}`, ""},
		{`{"c\u0061rd":"v"}`, "/card", `{"c\u0061rd":"[redacted]"}`, "v"},
		{`[["a"],["b"]]`, "/0 /1/0 /2", `["[redacted]",["[redacted]"]]`, "a|b"},
		{`{"card":"4111","card":"x"}`, "/card", "", ""},
		{`{"card":"4111"`, "/card", "", ""},
	}
	for _, c := range cases {
		pats := patterns(t, strings.Split(c.paths, " ")...)
		got, hidden, err := rawjson.Mask([]byte(c.doc), pats, []byte(redacted))
		if (err != nil) != (c.want == "") || string(got) != c.want || string(bytes.Join(hidden, []byte("|"))) != c.hidden {
			t.Errorf("Mask(%s, %s) = %s, %q, %v, want %s, %s", c.doc, c.paths, got, hidden, err, c.want, c.hidden)
		}
	}
}

func TestMaskRefusesBadMasks(t *testing.T) {
	for _, with := range []string{"", "redacted", `"a" "b"`, nested(1000)} {
		if got, _, err := rawjson.Mask([]byte(`{"a":1}`), patterns(t, "/a"), []byte(with)); err == nil {
			t.Errorf("Mask with %.20q made %.40s", with, got)
		}
	}
}

// maskAgainst checks that nothing stays at a masked place and that nothing
// else changes.
func maskAgainst(t *testing.T, doc string, pats []rawjson.Pattern) {
	t.Helper()
	masked, hidden, err := rawjson.Mask([]byte(doc), pats, []byte(redacted))
	if err != nil {
		t.Fatalf("Mask(%s): %v", doc, err)
	}
	for _, pat := range pats {
		hits, err := rawjson.Find(masked, pat)
		if err != nil {
			t.Fatalf("Mask(%s) made %s: %v", doc, masked, err)
		}
		for _, h := range hits {
			if string(h.Value) != redacted {
				t.Fatalf("Mask(%s): %s survives at %q", doc, h.Value, h.Pointer)
			}
		}
	}
	wantOpen, wantHidden := leavesOutside([]byte(doc), pats)
	if open, _ := leavesOutside(masked, pats); !slices.Equal(open, wantOpen) {
		t.Fatalf("Mask(%s): other values became %q, want %q", doc, open, wantOpen)
	}
	var got []string
	for _, h := range hidden {
		got = append(got, string(h))
	}
	if !slices.Equal(got, wantHidden) {
		t.Fatalf("Mask(%s) hid %q, want %q", doc, got, wantHidden)
	}
	again, _, err := rawjson.Mask(masked, pats, []byte(redacted))
	if err != nil || string(again) != string(masked) {
		t.Fatalf("masking %s again made %s, %v", masked, again, err)
	}
}

// leavesOutside lists the scalars that no pattern covers, and the texts of
// those that one covers.
func leavesOutside(doc []byte, pats []rawjson.Pattern) (open, hidden []string) {
	for p, v := range rawjson.Leaves(doc) {
		covered := slices.ContainsFunc(pats, func(pat rawjson.Pattern) bool { return pat.Covers(p) })
		text := rawjson.Text(v)
		switch {
		case !covered:
			open = append(open, fmt.Sprintf("%s=%s", p, v))
		case v[0] != 't' && v[0] != 'f' && v[0] != 'n' && text != "" && !slices.Contains(hidden, text):
			hidden = append(hidden, text)
		}
	}
	return open, hidden
}

func TestShape(t *testing.T) {
	cases := []struct{ doc, want string }{
		{`{"b":1,"a":"x","c":[1,"y",2,null],"d":{"e":true}}`, `{a:string,b:number,c:[null|number|string],d:{e:bool}}`},
		{`{"a":{"b":{"c":{},"d":[],"e":1}}}`, `{a:{b:{c:object,d:array,e:number}}}`},
		{`[{"a":1},{"a":2},{"b":[]}]`, `[{a:number}|{b:[]}]`},
		{`{"a:1}":1,"":2,"é":3,"x\"":4,"\u0041":5}`, `{"":number,"\u00e9":number,"a:1}":number,"x\"":number,A:number}`},
		{`null`, `null`}, {`[]`, `[]`}, {`{}`, `{}`}, {`"secret"`, `string`}, {`{"a":1,"a":1}`, `not JSON`}, {``, `not JSON`},
	}
	for _, c := range cases {
		if got := rawjson.Shape([]byte(c.doc)); got != c.want {
			t.Errorf("Shape(%s) = %s, want %s", c.doc, got, c.want)
		}
	}
}

func TestShapeIsShort(t *testing.T) {
	wide := func(last string) []byte {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, `"é%d":"secret",`, i)
		}
		return []byte("{" + b.String() + last + "}")
	}
	one, other := rawjson.Shape(wide(`"é999":1`)), rawjson.Shape(wide(`"é999":null`))
	if len(one) != 200 || len(other) != 200 || one == other || one != rawjson.Shape(wide(`"\u00e9999":2`)) {
		t.Errorf("shapes of wide objects:\n%s\n%s", one, other)
	}
	if strings.Contains(one, "secret") {
		t.Errorf("a value is in %s", one)
	}
}
