package rawjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

func TestKeep(t *testing.T) {
	cases := []struct{ before, after, want string }{
		{`{"a": 1.10, "b":2}`, `{"b":3,"a":1.1}`, `{"a": 1.10, "b":3}`},
		{`{"id":9007199254740993}`, `{"id":9007199254740992}`, `{"id":9007199254740992}`},
		{`[1.0, 2, 3]`, `[1, 3]`, `[1.0, 3]`},
		{`[1.0, 2]`, `[9,8,1,2.0]`, `[9,8,1.0, 2]`},
		{`[1.0, 3]`, `[1,2,2,3]`, `[1.0,2,2, 3]`},
		{`[ ]`, `[1,2]`, `[1,2 ]`},
		{`[1]`, `[]`, `[]`},
		{`{"a":1}`, `{}`, `{}`},
		{`{"a":1, "b":[1e0]}`, `{"c":0,"b":[1,{}]}`, `{"b":[1e0,{}], "c":0}`},
		{`{"\u0061":-0}`, `{"a":0,"n":-0}`, `{"\u0061":-0,"n":-0}`},
		{` {"o": {"x":1,"y":2}} `, `{"o":{"y":2,"x":1.0,"z":3}}`, ` {"o": {"x":1,"y":2,"z":3}} `},
		{`1.0`, `1`, `1.0`},
		{`1.0`, `"1"`, `"1"`},
	}
	for _, c := range cases {
		got, err := rawjson.Keep([]byte(c.before), []byte(c.after))
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %s: got %s, %v, want %s", c.before, c.after, got, err, c.want)
		}
		keepAgainst(t, c.before, c.after)
	}
	for _, bad := range []string{``, `{"a":1,"a":1}`, "\xff"} {
		if _, err := rawjson.Keep([]byte(bad), []byte(`1`)); err == nil {
			t.Errorf("%q before is taken", bad)
		}
		if _, err := rawjson.Keep([]byte(`1`), []byte(bad)); err == nil {
			t.Errorf("%q after is taken", bad)
		}
	}
}

// keepAgainst checks one result against the definition and against bytes that
// another decoder finds.
func keepAgainst(t *testing.T, before, after string) {
	t.Helper()
	got, err := rawjson.Keep([]byte(before), []byte(after))
	if err != nil {
		t.Fatalf("%s, %s: %v", before, after, err)
	}
	if err := rawjson.Check(got); err != nil {
		t.Fatalf("%s, %s: the result %s is %v", before, after, got, err)
	}
	if !refEqual(mustDecode(t, string(got)), mustDecode(t, after)) {
		t.Fatalf("%s, %s: got %s", before, after, got)
	}
	if a, b := changes(t, before, string(got)), changes(t, before, after); a != b {
		t.Fatalf("%s, %s: the result %s differs by %s, and after by %s", before, after, got, a, b)
	}
	if why := refKept([]byte(before), got); why != "" {
		t.Fatalf("%s, %s: in %s %s", before, after, got, why)
	}
}

func changes(t *testing.T, before, after string) (s string) {
	t.Helper()
	diff, err := rawjson.Diff([]byte(before), []byte(after))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range diff {
		s += fmt.Sprintf("%s %s %s %s\n", c.Op, c.Pointer, c.Before, c.After)
	}
	return s
}

// refKept says what that is equal did not keep its bytes, as encoding/json finds
// it; "" if all did. Lists of different lengths are only compared as wholes.
func refKept(before, after []byte) string {
	a, errA := refDecode(string(before))
	b, errB := refDecode(string(after))
	if errA != nil || errB != nil {
		return "something does not decode"
	}
	if refEqual(a, b) {
		if !bytes.Equal(bytes.TrimSpace(before), bytes.TrimSpace(after)) {
			return fmt.Sprintf("%s became %s", before, after)
		}
		return ""
	}
	switch a.(type) {
	case map[string]any:
		names, x := refMembers(before)
		others, y := refMembers(after)
		common := func(list []string, in map[string]json.RawMessage) []string {
			return slices.DeleteFunc(slices.Clone(list), func(n string) bool { _, ok := in[n]; return !ok })
		}
		if !slices.Equal(common(names, y), common(others, x)) {
			return fmt.Sprintf("the members %q became %q", names, others)
		}
		for _, n := range common(names, y) {
			if why := refKept(x[n], y[n]); why != "" {
				return why
			}
		}
	case []any:
		var x, y []json.RawMessage
		if json.Unmarshal(before, &x) != nil || json.Unmarshal(after, &y) != nil || len(x) != len(y) {
			return ""
		}
		for i := range x {
			if why := refKept(x[i], y[i]); why != "" {
				return why
			}
		}
	}
	return ""
}

// refMembers are the names of an object in their order, and the members' bytes.
func refMembers(doc []byte) (names []string, members map[string]json.RawMessage) {
	if json.Unmarshal(doc, &members) != nil {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.Token()
	for dec.More() {
		name, _ := dec.Token()
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			break
		}
		names = append(names, fmt.Sprint(name))
	}
	return names, members
}

func TestRandomKeep(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(9, 1))}
	for range 20000 {
		before := m.value(3)
		keepAgainst(t, before, m.value(3))
		after, err := apply(before, "["+m.operation(before)+","+m.operation(before)+"]")
		if err == nil {
			keepAgainst(t, before, string(after))
		}
	}
}

func FuzzKeep(f *testing.F) {
	f.Add(`{"a":1.0,"b":[1,2,3]}`, `{"b":[3,1],"a":1}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		if fuzzable(before) && fuzzable(after) {
			keepAgainst(t, before, after)
		}
	})
}
