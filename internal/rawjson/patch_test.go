package rawjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// The examples of RFC 6902 appendix A, in our own words where bytes matter: a
// new member comes last. An empty want means an error.
func TestRFC6902Examples(t *testing.T) {
	cases := []struct{ name, doc, patch, want string }{
		{"A.1 add a member", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"foo":"bar","baz":"qux"}`},
		{"A.2 add an element", `{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{"A.3 remove a member", `{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{"A.4 remove an element", `{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{"A.5 replace", `{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{"A.6 move", `{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`,
			`{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{"A.7 move an element", `{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{"A.8 test", `{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{"A.9 test fails", `{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ``},
		{"A.10 add an object", `{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"foo":"bar","child":{"grandchild":{}}}`},
		{"A.11 unknown member, refused here", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, ``},
		{"A.12 no parent", `{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ``},
		{"A.13 invalid patch", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","op":"remove"}]`, ``},
		{"A.14 escapes", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{"A.15 string is no number", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, ``},
		{"A.16 add an array", `{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
	}
	for _, c := range cases {
		got, err := apply(c.doc, c.patch)
		if (err != nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestPatchKeepsStyle(t *testing.T) {
	pretty := "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      1\n    ]\n  }\n}\n"
	cases := []struct{ doc, patch, want string }{
		{pretty, `[{"op":"add","path":"/b/n","value":{"x": 1}}]`, "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      1\n    ],\n    \"n\": {\"x\": 1}\n  }\n}\n"},
		{pretty, `[{"op":"add","path":"/b/c/0","value":0}]`, "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      0,\n      1\n    ]\n  }\n}\n"},
		{pretty, `[{"op":"add","path":"/b/c/-","value":2}]`, "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      1,\n      2\n    ]\n  }\n}\n"},
		{pretty, `[{"op":"remove","path":"/a"}]`, "{\n  \"b\": {\n    \"c\": [\n      1\n    ]\n  }\n}\n"},
		{pretty, `[{"op":"remove","path":"/b"}]`, "{\n  \"a\": 1\n}\n"},
		{pretty, `[{"op":"remove","path":"/b/c/0"}]`, "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      \n    ]\n  }\n}\n"},
		{`{ }`, `[{"op":"add","path":"/a\"\\\u0001\u2028","value":1}]`, "{\"a\\\"\\\\\\u0001\u2028\":1 }"},
		{`[ ]`, `[{"op":"add","path":"/0","value":[ ]}]`, `[[ ] ]`},
		{" 1 ", `[{"op":"replace","path":"","value":{"a": 2}}]`, ` {"a": 2} `},
		{" 1 ", `[]`, " 1 "},
		{`{"a":1.0}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"move","from":"/a","path":"/c"}]`, `{"b":1.0,"c":1.0}`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a/b","path":"/a"}]`, `{"a":1}`},
		{`{"a":1}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":1}`},
		{`[1,2]`, `[{"op":"move","from":"/1","path":"/0"}]`, `[2,1]`},
		{`{"01":1,"-":2}`, `[{"op":"replace","path":"/01","value":3},{"op":"remove","path":"/-"}]`, `{"01":3}`},
		{`{"a" :` + strings.Repeat(" ", 999) + `1}`, `[{"op":"add","path":"/b","value":2}]`, `{"a" :` + strings.Repeat(" ", 999) + `1,"b":2}`},
	}
	for _, c := range cases {
		got, err := apply(c.doc, c.patch)
		if err != nil || string(got) != c.want {
			t.Errorf("%q, %s:\ngot  %q, %v\nwant %q", c.doc, c.patch, got, err, c.want)
		}
	}
}

func TestParsePatchRefuses(t *testing.T) {
	cases := []struct{ patch, says string }{
		{``, "not JSON"},
		{`{}`, "array"},
		{`null`, "array"},
		{`[1]`, "operation 0: must be an object"},
		{`[{"op":"remove","path":"/a"},[]]`, "operation 1: must be an object"},
		{`[{"path":"/a"}]`, `"op" is missing`},
		{`[{"op":1,"path":"/a"}]`, `"op" must be a string`},
		{`[{"op":"Add","path":"/a","value":1}]`, `unknown op "Add"`},
		{`[{"op":"","path":"/a"}]`, `unknown op ""`},
		{`[{"op":"add","value":1}]`, `"path" is missing`},
		{`[{"op":"add","path":null,"value":1}]`, `"path" must be a string`},
		{`[{"op":"add","path":"a","value":1}]`, "must be empty or start with /"},
		{`[{"op":"add","path":"/~2","value":1}]`, "neither ~0 nor ~1"},
		{`[{"op":"add","path":"/a"}]`, "add needs a value"},
		{`[{"op":"replace","path":"/a"}]`, "replace needs a value"},
		{`[{"op":"test","path":"/a"}]`, "test needs a value"},
		{`[{"op":"move","path":"/a"}]`, `"from" is missing`},
		{`[{"op":"copy","path":"/a","from":1}]`, `"from" must be a string`},
		{`[{"op":"copy","path":"/a","from":"b"}]`, `"from"`},
		{`[{"op":"add","path":"/a","value":1,"from":"/b"}]`, `no member "from"`},
		{`[{"op":"remove","path":"/a","value":1}]`, `no member "value"`},
		{`[{"op":"remove","path":"/a","":1}]`, `no member ""`},
		{`[{"op":"remove","path":"/a","Path":"/b"}]`, `no member "Path"`},
		{`[{"op":"remove","path":"/a","p\u0061th":"/b"}]`, "duplicate name"},
		{`[{"op":"add","path":"/a","value":{"x":1,"x":2}}]`, "duplicate name"},
		{`[{"op":"remove","path":"/a"}] x`, "trailing data"},
		{"[" + strings.Repeat(`{"op":"remove","path":"/a"},`, 100) + `{"op":"remove","path":"/a"}]`, "at most 100"},
	}
	for _, c := range cases {
		if _, err := rawjson.ParsePatch([]byte(c.patch)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("ParsePatch(%.80s) = %v, want %q in it", c.patch, err, c.says)
		}
	}
}

func TestOperations(t *testing.T) {
	data := []byte(`[{"value": {"b" : 1.0} ,"op":"add","path":"/a~1b"},{"op":"move","from":"/x","path":""}]`)
	p, err := rawjson.ParsePatch(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	ops := p.Operations()
	if len(ops) != 2 || ops[0].Op != "add" || ops[0].Path.String() != "/a~1b" || string(ops[0].Value) != `{"b" : 1.0}` ||
		ops[1].Op != "move" || ops[1].From.String() != "/x" || !ops[1].Path.IsRoot() || ops[1].Value != nil {
		t.Errorf("operations: %+v", ops)
	}
	ops[0].Op = "remove"
	if p.Operations()[0].Op != "add" {
		t.Error("the patch can be changed from outside")
	}
	if p, err := rawjson.ParsePatch([]byte("[" + strings.Repeat(`{"op":"remove","path":"/a"},`, 99) + `{"op":"remove","path":"/a"}]`)); err != nil || len(p.Operations()) != 100 {
		t.Errorf("100 operations: %v", err)
	}
}

func TestApplyRefuses(t *testing.T) {
	doc := `{"a":[1,[2]],"o":{"k":"v"}}`
	cases := []struct {
		patch string
		is    error
		says  string
	}{
		{`[{"op":"replace","path":"/zz","value":1}]`, rawjson.ErrNoPath, `operation 0 (replace "/zz")`},
		{`[{"op":"add","path":"/n","value":1},{"op":"copy","from":"/zz","path":"/y"}]`, rawjson.ErrNoPath, `operation 1 (copy "/y"): from "/zz"`},
		{`[{"op":"move","from":"/zz","path":"/zz"}]`, rawjson.ErrNoPath, `from "/zz"`},
		{`[{"op":"test","path":"/o/k","value":"w"}]`, rawjson.ErrTestFailed, `operation 0 (test "/o/k")`},
		{`[{"op":"move","from":"/o","path":"/o/x"}]`, nil, "into itself"},
		{`[{"op":"move","from":"","path":"/o"}]`, nil, "into itself"},
		{`[{"op":"remove","path":""}]`, nil, "whole document"},
		{`[{"op":"add","path":"/d","value":` + nested(998) + `},{"op":"copy","from":"/d","path":"/a/1/0/0"}]`, rawjson.ErrNoPath, ""},
		{`[{"op":"add","path":"/d","value":` + nested(998) + `},{"op":"add","path":"/a/1/0","value":` + nested(998) + `}]`, nil, "operation 1 (add \"/a/1/0\"): too deep"},
	}
	for _, c := range cases {
		got, err := apply(doc, c.patch)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.90s: got %.90s, %v, want %q", c.patch, got, err, c.says)
		}
	}
}

func TestCopyBomb(t *testing.T) {
	op := `{"op":"copy","from":"","path":"/a/-"},`
	_, err := apply(`{"a":[`+strings.Repeat(`"xxxxxxxxxxxxxxxx",`, 64)+`0]}`, "["+strings.Repeat(op, 99)+strings.TrimSuffix(op, ",")+"]")
	if err == nil || !strings.Contains(err.Error(), "copies") {
		t.Errorf("a patch that doubles the document a hundred times: %v", err)
	}
}

// Every operation on every odd path, against the reference.
func TestOddPaths(t *testing.T) {
	docs := []string{
		`{"a":{"b":[1,2,3],"c~d":{"e/f":1}},"x":null,"":0,"-":{"0":1},"01":2}`, `[1,[2],{"k":"v"}]`, `{}`, `[]`, `"s"`,
		"{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}",
	}
	paths := []string{
		"", "/", "//", "/a", "/a/b", "/a/b/0", "/a/b/2", "/a/b/3", "/a/b/4", "/a/b/-", "/a/b/00", "/a/b/01", "/a/b/-1", "/a/b/+1",
		"/a/b/1e0", "/a/b/1.0", "/a/b/0x0", "/a/b/ 0", "/a/b/1 ", "/a/b/", "/a/b/٠", "/a/b/18446744073709551616", "/a/b/-/0", "/a/b/0/x",
		"/a/c~0d", "/a/c~d", "/a/c~0d/e~1f", "/a/c~0d/e/f", "/x", "/x/y", "/0", "/1/0", "/1/1", "/1/-", "/2/k", "/2/k/0", "/-", "/-/0", "/01",
		"/zz", "/zz/y", "/b/c", "/b/new", "a", "#/a", "/~", "/~2",
	}
	for _, doc := range docs {
		for _, path := range paths {
			for _, op := range []string{"add", "replace", "test", "remove"} {
				value := `,"value":{"q":[1.50]}`
				if op == "remove" {
					value = ""
				}
				against(t, doc, fmt.Sprintf(`[{"op":%q,"path":%q%s}]`, op, path, value))
			}
			for _, from := range paths {
				against(t, doc, fmt.Sprintf(`[{"op":"copy","path":%q,"from":%q}]`, path, from))
				against(t, doc, fmt.Sprintf(`[{"op":"move","path":%q,"from":%q}]`, path, from))
			}
		}
	}
}

func TestPublicEdits(t *testing.T) {
	const noPath = "" // the case ends in ErrNoPath
	doc := []byte(`{"a": [1, 2]}`)
	cases := []struct {
		name string
		do   func() ([]byte, error)
		want string
	}{
		{"replace", func() ([]byte, error) { return rawjson.Replace(doc, ptr(t, "/a/1"), []byte("\n3 ")) }, `{"a": [1, 3]}`},
		{"replace nothing", func() ([]byte, error) { return rawjson.Replace(doc, ptr(t, "/a/2"), []byte("3")) }, noPath},
		{"add", func() ([]byte, error) { return rawjson.Add(doc, ptr(t, "/a/-"), []byte("3")) }, `{"a": [1, 2, 3]}`},
		{"add nowhere", func() ([]byte, error) { return rawjson.Add(doc, ptr(t, "/b/c"), []byte("3")) }, noPath},
		{"remove", func() ([]byte, error) { return rawjson.Remove(doc, ptr(t, "/a")) }, `{}`},
		{"remove nothing", func() ([]byte, error) { return rawjson.Remove(doc, ptr(t, "/a/-")) }, noPath},
	}
	for _, c := range cases {
		got, err := c.do()
		if c.want == noPath {
			if !errors.Is(err, rawjson.ErrNoPath) || !strings.Contains(err.Error(), `"/`) {
				t.Errorf("%s: got %s, %v", c.name, got, err)
			}
		} else if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, value := range []string{"", "1 2", `{"a":1,"a":2}`, nested(1000)} {
		if got, err := rawjson.Replace(doc, ptr(t, "/a"), []byte(value)); err == nil {
			t.Errorf("Replace by %.20q made %.40s", value, got)
		}
	}
	deep, err := rawjson.Replace(doc, ptr(t, "/a"), []byte(nested(999)))
	if err != nil || rawjson.Check(deep) != nil {
		t.Errorf("999 levels inside one: %v", err)
	}
}
