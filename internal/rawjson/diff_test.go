package rawjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

func diffText(changes []rawjson.Change) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s %s %s>%s", c.Op, c.Pointer, c.Before, c.After))
	}
	return strings.Join(lines, "; ")
}

func TestDiff(t *testing.T) {
	cases := []struct{ before, after, want string }{
		{`1`, `1.0`, ``},
		{`1`, `2`, `replace  1>2`},
		{`{"id":9007199254740993}`, `{"id":9007199254740992}`, `replace /id 9007199254740993>9007199254740992`},
		{`{"a":1,"b":2}`, ` { "b":2.0, "\u0061":1 }`, ``},
		{`{"a":1,"b":2,"c":3}`, `{"d":4,"b":5,"c":3}`, `remove /a 1>; replace /b 2>5; add /d >4`},
		{`{"a":{"x":1},"b":1}`, `{"a":{"x":1,"y":2},"b":2}`, `replace /b 1>2; add /a/y >2`},
		{`{"a":{"x":1}}`, `{"a":[1]}`, `replace /a {"x":1}>[1]`},
		{`{"a":null}`, `{}`, `remove /a null>`},
		{`{"a":"1"}`, `{"a":1}`, `replace /a "1">1`},
		{`{"a":true}`, `{"a":false}`, `replace /a true>false`},
		{`[1,2,3]`, `[1,2]`, `remove /2 3>`},
		{`[1,2,3]`, `[2,3]`, `remove /0 1>`},
		{`[1,2,3,4]`, `[1,3,4]`, `remove /1 2>`},
		{`[1,3,4]`, `[1,2,3,4]`, `add /1 >2`},
		{`[]`, `[1,[2]]`, `add /0 >1; add /1 >[2]`},
		{`[1,1,1]`, `[1,1]`, `remove /2 1>`},
		{`[1,{"a":1,"b":2},9]`, `[1,{"a":3,"b":2},8,9]`, `replace /1/a 1>3; add /2 >8`},
		{`[1,2]`, `[2,1]`, `replace /0 1>2; replace /1 2>1`},
		{`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, `replace /a~1b/~0 1>2`},
		{`{"\ud800":1}`, `{"\ufffd":1}`, "remove /\xed\xa0\x80 1>; add /\ufffd >1"},
		{nested(1000), nested(999), `remove ` + strings.Repeat("/0", 999) + ` []>`},
	}
	for _, c := range cases {
		changes, err := rawjson.Diff([]byte(c.before), []byte(c.after))
		if got := diffText(changes); err != nil || got != c.want {
			t.Errorf("Diff(%.80s, %.80s)\ngot  %.200s, %v\nwant %.200s", c.before, c.after, got, err, c.want)
		}
	}
	for _, c := range [][2]string{{"", "1"}, {"1", ""}, {`{"a":1,"a":1}`, "{}"}} {
		if _, err := rawjson.Diff([]byte(c[0]), []byte(c[1])); err == nil {
			t.Errorf("Diff(%s, %s) was answered", c[0], c[1])
		}
	}
}

// diffAgainst checks what every diff promises.
func diffAgainst(t *testing.T, before, after string) {
	t.Helper()
	a, b := []byte(before), []byte(after)
	changes, err := rawjson.Diff(a, b)
	if err != nil {
		t.Fatalf("Diff(%s, %s): %v", before, after, err)
	}
	equal := rawjson.Equal(a, b)
	if want := refEqual(mustDecode(t, before), mustDecode(t, after)); equal != want && cheapNumbers(before+" "+after) && !hasSurrogate(before+after) {
		t.Fatalf("Equal(%s, %s) = %v", before, after, equal)
	}
	if equal != (len(changes) == 0) || equal != rawjson.Equal(b, a) {
		t.Fatalf("Diff(%s, %s) = %s, Equal says %v", before, after, diffText(changes), equal)
	}
	for _, c := range changes {
		old, inOld, _ := rawjson.Get(a, c.Pointer)
		now, inNow, _ := rawjson.Get(b, c.Pointer)
		ok := false
		switch c.Op {
		case rawjson.OpAdd:
			ok = c.Before == nil && inNow && string(now) == string(c.After)
		case rawjson.OpRemove:
			ok = c.After == nil && inOld && string(old) == string(c.Before)
		case rawjson.OpReplace:
			ok = inOld && inNow && string(old) == string(c.Before) && string(now) == string(c.After) && !rawjson.Equal(old, now)
		}
		if !ok {
			t.Fatalf("Diff(%s, %s) = %s: what it says of %q is wrong", before, after, diffText(changes), c.Pointer)
		}
	}
}

func hasSurrogate(doc string) bool { return strings.Contains(strings.ToLower(doc), `\ud`) }
