package rawjson_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// against applies a patch to the bytes and to the decoded value; both must be
// refused or come to the same.
func against(t *testing.T, doc, patch string) {
	t.Helper()
	got, err := apply(doc, patch)
	want, wantErr := refPatch(doc, patch)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s, %s: got %s, %v, want %v, %v", doc, patch, got, err, want, wantErr)
	}
	if err != nil {
		return
	}
	if err := rawjson.Check(got); err != nil {
		t.Fatalf("%s, %s: the result %s is %v", doc, patch, got, err)
	}
	if have := refText(mustDecode(t, string(got))); have != refText(want) {
		t.Fatalf("%s, %s: got %s, want %s", doc, patch, have, refText(want))
	}
}

func refPatch(doc, patch string) (any, error) {
	var ops []refOp
	if err := json.Unmarshal([]byte(patch), &ops); err != nil {
		return nil, err
	}
	v, err := refDecode(doc)
	for _, op := range ops {
		if err != nil {
			break
		}
		v, err = refApply(v, op)
	}
	return v, err
}

// maker makes random documents in odd spellings.
type maker struct{ *rand.Rand }

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

func (m maker) space() string { return m.pick("", "", "", " ", "\n  ", "\t") }

func (m maker) value(depth int) string {
	if depth == 0 || m.IntN(3) == 0 {
		return m.pick("1", "1.0", "-0", "10e-1", "9007199254740993", "9007199254740992", `"a"`, `"\u0061"`, `""`, `"~/"`, "true", "false", "null", "{}", "[]", "[ ]")
	}
	var parts []string
	if m.IntN(2) == 0 {
		for range m.IntN(4) {
			parts = append(parts, m.space()+m.value(depth-1)+m.space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	names := []string{`"a"`, `"\u0062"`, `"~1/"`, `""`, `"0"`, `"-"`}
	m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:m.IntN(5)] {
		parts = append(parts, m.space()+name+m.space()+":"+m.space()+m.value(depth-1)+m.space())
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// path is often a place in doc, and sometimes beside one.
func (m maker) path(doc string) string {
	all := []string{"", "/a", "/0", "/-"}
	for p := range rawjson.Leaves([]byte(doc)) {
		for ; !p.IsRoot(); p = p.Parent() {
			all = append(all, p.String())
		}
	}
	p := m.pick(all...)
	if m.IntN(4) == 0 {
		p += m.pick("/a", "/b", "/0", "/1", "/-", "/01", "/")
	}
	return p
}

func (m maker) operation(doc string) string {
	switch op := m.pick("add", "replace", "remove", "copy", "move", "test"); op {
	case "remove":
		return fmt.Sprintf(`{"op":"remove","path":%q}`, m.path(doc))
	case "copy", "move":
		return fmt.Sprintf(`{"op":%q,"path":%q,"from":%q}`, op, m.path(doc), m.path(doc))
	default:
		return fmt.Sprintf(`{"op":%q,"path":%q,"value":%s}`, op, m.path(doc), m.value(2))
	}
}

func TestRandomPatches(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(6902, 1))}
	for range 20000 {
		doc := m.space() + m.value(4) + m.space()
		var ops []string
		for range 1 + m.IntN(3) {
			ops = append(ops, m.operation(doc))
		}
		against(t, doc, "["+strings.Join(ops, ",")+"]")
	}
}

func TestRandomMerges(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(7396, 1))}
	for range 20000 {
		mergeAgainst(t, m.value(4), m.value(3))
	}
}

func TestRandomDiffs(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(64, 1))}
	for range 20000 {
		before := m.value(3)
		diffAgainst(t, before, m.value(3))
		after, err := apply(before, "["+m.operation(before)+"]")
		if err == nil {
			diffAgainst(t, before, string(after))
		}
	}
}
