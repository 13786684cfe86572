package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unsafe"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// fuzzable says whether the reference can be asked about doc.
func fuzzable(doc string) bool {
	return rawjson.Check([]byte(doc)) == nil && !hasSurrogate(doc) && cheapNumbers(doc)
}

func FuzzPatch(f *testing.F) {
	for _, c := range []struct{ doc, patch string }{
		{`{"a":{"b":[1,2,3]},"x":null}`, `[{"op":"add","path":"/a/b/1","value":{"q":1}}]`},
		{"{\n \"a\" : 1.10 , \"b\":[ ]}", `[{"op":"replace","path":"/a","value":"x"},{"op":"copy","from":"/a","path":"/b/-"}]`},
		{`[[],{"~/":1}]`, `[{"op":"remove","path":"/1/~0~1"},{"op":"move","from":"/0","path":"/1/x"}]`},
		{`{"n":1e2}`, `[{"op":"test","path":"/n","value":100.0}]`},
	} {
		f.Add(c.doc, c.patch)
	}
	f.Fuzz(func(t *testing.T, doc, patch string) {
		p, err := rawjson.ParsePatch([]byte(patch))
		if err != nil || !fuzzable(doc) || !fuzzable(patch) {
			return
		}
		if len(p.Operations()) < 8 { // no copy bombs for the reference
			against(t, doc, patch)
		}
	})
}

// FuzzOperation builds the patch, so that the fuzzer need not find its syntax,
// and checks that one edit touches one run of bytes.
func FuzzOperation(f *testing.F) {
	f.Add(`{"a":{"b":[1,2,3]},"x":null}`, "/a/b/1", "/x", `{"q":1}`, uint8(0))
	f.Add("{\n \"a\" : 1.10 , \"b\":[ ]}", "/b/-", "/a", `"x"`, uint8(1))
	f.Add(`[[],{"~/":1}]`, "/1/~0~1", "/0", `2`, uint8(4))
	f.Fuzz(func(t *testing.T, doc, path, from, value string, kind uint8) {
		if !fuzzable(doc) || !fuzzable(value) {
			return
		}
		op := refOp{Op: []string{"add", "remove", "replace", "copy", "move", "test"}[kind%6], Path: path}
		switch kind % 6 {
		case 0, 2, 5:
			op.Value = json.RawMessage(strings.TrimSpace(value))
		case 3, 4:
			op.From = &from
		}
		patch, err := json.Marshal([]refOp{op})
		if err != nil {
			t.Fatal(err)
		}
		against(t, doc, string(patch))
		if got, err := apply(doc, string(patch)); err == nil && op.Op != "move" {
			oneRun(t, doc, string(got), op.Op)
			inPlace(t, doc, string(patch), string(got))
		}
	})
}

// oneRun fails unless got is doc with bytes inserted at one place, removed at
// one place, or (replace, or add to a name that exists) both at one place.
func oneRun(t *testing.T, doc, got, op string) {
	t.Helper()
	front, back, least := 0, 0, min(len(doc), len(got))
	for front < least && doc[front] == got[front] {
		front++
	}
	for back < least-front && doc[len(doc)-1-back] == got[len(got)-1-back] {
		back++
	}
	if op == "remove" && front+back < len(got) {
		t.Fatalf("removing from %q rewrote it to %q", doc, got)
	}
	if op == "test" && got != doc {
		t.Fatalf("a test made %q of %q", got, doc)
	}
}

// inPlace fails unless every byte outside of what an operation names is as it was:
// the digits, the spelling and the order of all else.
func inPlace(t *testing.T, doc, patch, got string) {
	t.Helper()
	var ops []refOp
	if err := json.Unmarshal([]byte(patch), &ops); err != nil {
		t.Fatal(err)
	}
	op, at := ops[0], ptr(t, ops[0].Path)
	value := string(op.Value)
	if op.Op == "copy" {
		raw, _, _ := rawjson.Get([]byte(doc), ptr(t, *op.From))
		value = string(raw)
	}
	if at.IsRoot() || op.Op == "remove" || op.Op == "test" {
		return
	}
	whole := []byte(doc)
	old, there, _ := rawjson.Get(whole, at)
	parent, _, _ := rawjson.Get(whole, at.Parent())
	if there && (op.Op == "replace" || parent[0] == '{') {
		from := int(uintptr(unsafe.Pointer(&old[0])) - uintptr(unsafe.Pointer(&whole[0]))) // old is a part of whole
		if want := doc[:from] + value + doc[from+len(old):]; got != want {
			t.Fatalf("%s makes %q of %q, want %q", patch, got, doc, want)
		}
		return
	}
	// One insertion, which holds the value as it was written.
	front := 0
	for front < len(doc) && doc[front] == got[front] {
		front++
	}
	if len(got) < len(doc)+len(value) || !strings.HasSuffix(got, doc[front:]) || !strings.Contains(got, value) {
		t.Fatalf("%s makes %q of %q", patch, got, doc)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(`{"a":"b","c":{"d":1.0}}`, `{"a":null,"c":{"e":2}}`)
	f.Add("{ \"a\" : 1 ,\n \"b\" : 2 }", `{"a":null,"b":null,"c":{"x":null}}`)
	f.Add(`[1]`, `{"a":{"b":null,"c":[null]}}`)
	f.Fuzz(func(t *testing.T, doc, patch string) {
		if fuzzable(doc) && fuzzable(patch) {
			mergeAgainst(t, doc, patch)
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add(`{"a":[1,2,3],"b":{"c":1.0}}`, `{"b":{"c":1},"a":[2,3]}`)
	f.Add(`[1e2,"\u0061"]`, `[100,"a"]`)
	f.Add(`9007199254740993`, `9007199254740992`)
	f.Add(`{"\ud800":1}`, `{"\ufffd":1}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		if rawjson.Check([]byte(before)) == nil && rawjson.Check([]byte(after)) == nil {
			diffAgainst(t, before, after)
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add(`{"card":{"no":"41\u00311"},"i":[{"p":1},{"p":"1"}]}`, "/card", "/i/*/p")
	f.Add(`["a",[true,""]]`, "", "/*/0")
	f.Add(`{"a":{"b":1}}`, "/a/b", "/a")
	f.Fuzz(func(t *testing.T, doc, one, two string) {
		a, err := rawjson.ParsePattern(one)
		if err != nil {
			return
		}
		b, err := rawjson.ParsePattern(two)
		if err != nil || rawjson.Check([]byte(doc)) != nil {
			return
		}
		maskAgainst(t, doc, []rawjson.Pattern{a, b})
	})
}
