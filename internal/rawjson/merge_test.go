package rawjson_test

import (
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// The examples of RFC 7396 appendix A, and what they do to bytes.
func TestMergePatch(t *testing.T) {
	cases := []struct{ doc, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},

		{"{ \"a\" : 1.10 ,\n  \"b\" : 2 }\n", `{"b":3}`, "{ \"a\" : 1.10 ,\n  \"b\" : 3 }\n"},
		{"{ \"a\" : 1.10 ,\n  \"b\" : 2 }\n", `{"c":3}`, "{ \"a\" : 1.10 ,\n  \"b\" : 2,\n  \"c\" : 3 }\n"},
		{"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", `{"a":null}`, "{\n  \"b\": 2,\n  \"c\": 3\n}"},
		{"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", `{"c":null}`, "{\n  \"a\": 1,\n  \"b\": 2\n}"},
		{`{"a":1,"b":2,"c":3,"d":4}`, `{"a":null,"b":null,"d":null}`, `{"c":3}`},
		{`{"a":1,"b":2,"c":3,"d":4}`, `{"b":null,"c":null}`, `{"a":1,"d":4}`},
		{`{"a":1,"b":2}`, `{"a":null,"b":null,"c":3,"d":4}`, `{"c":3,"d":4}`},
		{`{"a":{"b":1},"z":9007199254740993}`, `{"a":{"c":{"n":null,"m":[null]}}}`, `{"a":{"b":1,"c":{"m":[null]}},"z":9007199254740993}`},
		{`{"\u0061":1}`, `{"a":2,"\u0062":"\u0063"}`, `{"\u0061":2,"\u0062":"\u0063"}`},
		{` 7 `, ` { "a" : null , "b" : 1 } `, ` { "b" : 1 } `},
		{`{"a":{"x":1,"x2":1}}`, `{"a":{"x":null,"x2":null,"y":{}}}`, `{"a":{"y":{}}}`},
		{`{}`, `{}`, `{}`},
	}
	for _, c := range cases {
		got, err := rawjson.MergePatch([]byte(c.doc), []byte(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("%q merged with %q: got %q, %v, want %q", c.doc, c.patch, got, err, c.want)
		}
	}
}

func TestMergePatchRefuses(t *testing.T) {
	for _, c := range []struct{ doc, patch, says string }{
		{`{"a":1,"a":2}`, `{}`, "document: duplicate name"},
		{`{}`, `{"a":1,"a":null}`, "merge patch: duplicate name"},
		{`{}`, ``, "merge patch: not JSON"},
		{``, `{}`, "document: not JSON"},
	} {
		if _, err := rawjson.MergePatch([]byte(c.doc), []byte(c.patch)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q merged with %q: %v", c.doc, c.patch, err)
		}
	}
}

// mergeAgainst merges the bytes and the decoded values. Whatever the patch
// does not name keeps its bytes.
func mergeAgainst(t *testing.T, doc, patch string) {
	t.Helper()
	got, err := rawjson.MergePatch([]byte(doc), []byte(patch))
	if err != nil {
		t.Fatalf("%s merged with %s: %v", doc, patch, err)
	}
	if err := rawjson.Check(got); err != nil {
		t.Fatalf("%s merged with %s is %s: %v", doc, patch, got, err)
	}
	want := refText(refMerge(mustDecode(t, doc), mustDecode(t, patch)))
	if have := refText(mustDecode(t, string(got))); have != want {
		t.Fatalf("%s merged with %s is %s, want %s", doc, patch, have, want)
	}
	changes, err := rawjson.Diff([]byte(doc), got)
	if err != nil {
		t.Fatal(err)
	}
	for p, value := range rawjson.Leaves([]byte(doc)) {
		if related(p, changes) || namedBy(patch, p) {
			continue
		}
		if kept, ok, _ := rawjson.Get(got, p); !ok || string(kept) != string(value) {
			t.Fatalf("%s merged with %s: %s became %s at %q", doc, patch, value, kept, p)
		}
	}
}

func related(p rawjson.Pointer, changes []rawjson.Change) bool {
	for _, c := range changes {
		if c.Pointer.Related(p) {
			return true
		}
	}
	return false
}

// namedBy says whether patch has a value that is no object at p or above it.
func namedBy(patch string, p rawjson.Pointer) bool {
	for ; ; p = p.Parent() {
		if v, ok, _ := rawjson.Get([]byte(patch), p); ok && v[0] != '{' {
			return true
		}
		if p.IsRoot() {
			return false
		}
	}
}

func TestMergePlaces(t *testing.T) {
	for patch, want := range map[string]string{
		`{}`: `=[{}]`, `5`: `=[5]`, `{"a":1,"b":{"c":null,"d":{}},"":[{"e":1}]}`: `/a=[1] /b/c=[null] /b/d=[{}] /=[[{"e":1}]]`,
		`{"a/b~":1}`: `/a~1b~0=[1]`, `{"a":1,"a":2}`: ``, `{`: ``,
		`{"\ud800":1,"\ud801":2}`: "/\xed\xa0\x80=[1] /\xed\xa0\x81=[2]",
	} {
		var got []string
		for p, v := range rawjson.MergePlaces([]byte(patch)) {
			got = append(got, p.String()+"=["+string(v)+"]")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %q, want %q", patch, s, want)
		}
	}
}
