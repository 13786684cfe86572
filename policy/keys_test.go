package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Every key of the schema is given every value that its shape makes bad, in a
// policy that has all keys and loads without it. A key that the policy lacks,
// and a shape for which no bad values are known, fail the test.
func TestEveryKeyHasItsRefusals(t *testing.T) {
	for _, set := range []struct {
		file  string
		kinds map[string]policy.Kind
		whose func(schemaKey) bool
	}{
		{"../testdata/policies/whole.yaml", options().Kinds, func(schemaKey) bool { return true }},
		{"testdata/stores.yaml", storeKinds(), schemaKey.store},
	} {
		t.Run(filepath.Base(set.file), func(t *testing.T) {
			t.Parallel()
			whole := newWhole(t, set.file, set.kinds)
			tried := 0
			for _, key := range schemaKeys(t, set.kinds) {
				if !set.whose(key) {
					continue
				}
				path, ok := whole.find(key.pattern)
				if !ok {
					t.Errorf("the policy has no %s: add it, so that its refusals are tried", key.pattern)
					continue
				}
				for _, bad := range badValues(t, key) {
					whole.try(t, key, path, bad)
					tried++
				}
			}
			if tried < 1000 {
				t.Errorf("only %d bad values were tried", tried)
			}
		})
	}
}

// storeKinds are the stores of this build.
func storeKinds() map[string]policy.Kind {
	return map[string]policy.Kind{
		"postgres": {NewBackend: sqljobs.Postgres().NewBackend, NewSource: sqljobs.Postgres().NewSource},
		"sqlite":   {NewBackend: sqljobs.SQLite().NewBackend, NewSource: sqljobs.SQLite().NewSource},
	}
}

// whole is a policy with every key.
type whole struct {
	root   *yaml.Node
	kinds  map[string]policy.Kind
	schema interface{ Validate(any) error }
	paths  []string // of every value, as "queues/orders/rules/0/name"
}

func newWhole(t *testing.T, file string, kinds map[string]policy.Kind) *whole {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	w := &whole{root: doc.Content[0], kinds: kinds, schema: compileSchemaOf(t, kinds)}
	w.walk(w.root, "")
	text, _, _ := w.render("", nil)
	if err := w.parse(text); err != nil {
		t.Fatalf("%s written anew does not load: %v\n%s", file, err, text)
	}
	if err := w.schema.Validate(toJSON(t, data)); err != nil {
		t.Errorf("%s does not satisfy the schema: %v", file, err)
	}
	return w
}

func (w *whole) walk(n *yaml.Node, path string) {
	w.paths = append(w.paths, path)
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			w.walk(c, strings.TrimPrefix(path+"/"+strconv.Itoa(i), "/"))
		case i%2 == 1:
			w.walk(c, strings.TrimPrefix(path+"/"+n.Content[i-1].Value, "/"))
		}
	}
}

// find is the first path that a pattern names; * stands for one step.
func (w *whole) find(pattern string) (string, bool) {
	re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, "[^/]+") + "$")
	i := slices.IndexFunc(w.paths, re.MatchString)
	if i < 0 {
		return "", false
	}
	return w.paths[i], true
}

func (w *whole) parse(text string) error {
	read := func(name string) ([]byte, error) {
		if name != "orders.schema.json" {
			return nil, fs.ErrNotExist
		}
		return []byte(`{"type": "object"}`), nil
	}
	_, err := policy.Parse("policy.yaml", []byte(text), read, policy.Options{Kinds: w.kinds})
	return err
}

// render writes the policy with every value on a line of its own. The value at a
// path is what replace makes of its text. first and last are its lines.
func (w *whole) render(at string, replace func(good string) string) (text string, first, last int) {
	var b strings.Builder
	var put func(n *yaml.Node, path string) string
	put = func(n *yaml.Node, path string) string {
		var s strings.Builder
		switch n.Kind {
		case yaml.MappingNode:
			s.WriteString("{\n")
			for i := 0; i < len(n.Content); i += 2 {
				key := n.Content[i].Value
				fmt.Fprintf(&s, "%q: %s,\n", key, put(n.Content[i+1], strings.TrimPrefix(path+"/"+key, "/")))
			}
			s.WriteString("}")
		case yaml.SequenceNode:
			s.WriteString("[\n")
			for i, item := range n.Content {
				fmt.Fprintf(&s, "%s,\n", put(item, fmt.Sprintf("%s/%d", path, i)))
			}
			s.WriteString("]")
		default:
			if n.Tag == "!!str" {
				s.WriteString(strconv.Quote(n.Value))
			} else {
				s.WriteString(n.Value)
			}
		}
		if path == at && replace != nil {
			return "\x01" + replace(s.String()) + "\x02"
		}
		return s.String()
	}
	b.WriteString(put(w.root, ""))
	text = b.String()
	if before, rest, ok := strings.Cut(text, "\x01"); ok {
		value, after, _ := strings.Cut(rest, "\x02")
		first = strings.Count(before, "\n") + 1
		return before + value + after, first, first + strings.Count(value, "\n")
	}
	return text, 0, 0
}

// try puts a bad value in the place of a key's.
func (w *whole) try(t *testing.T, key schemaKey, path string, bad badValue) {
	t.Helper()
	text, first, last := w.render(path, bad.make)
	what := fmt.Sprintf("%s: %s", key.pattern, bad.name)
	err := w.parse(text)
	if why := allowed[key.pattern+": "+bad.name]; why != "" {
		if err != nil {
			t.Errorf("%s is said to be allowed (%s), and is refused: %v", what, why, err)
		}
		return
	}
	var faults *policy.Faults
	if !errors.As(err, &faults) {
		t.Errorf("%s is not refused: %v\n%s", what, err, strings.Split(text, "\n")[first-1])
		return
	}
	near := false
	for _, f := range faults.All {
		// YAML itself names a line at the beginning or the end of what it cannot read.
		near = near || f.Line >= first && f.Line <= last || strings.HasPrefix(f.Why, "not YAML: ")
		wantClear(t, what, f)
	}
	if !near {
		t.Errorf("%s on lines %d to %d: no fault is there: %v", what, first, last, err)
	}
	var doc yaml.Node
	if bad.shape && yaml.Unmarshal([]byte(text), &doc) == nil && w.schema.Validate(jsonOf(doc.Content[0])) == nil {
		t.Errorf("%s satisfies the schema", what)
	}
}

// wantClear fails where a fault has no place, no hint, or text that is long, a
// secret or not to be seen.
func wantClear(t *testing.T, what string, f policy.Fault) {
	t.Helper()
	text := f.Error()
	hidden := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar }
	switch {
	case f.File == "" || f.Line < 1 || f.Column < 1 || f.Why == "":
		t.Errorf("%s: a fault without a place or a reason: %+v", what, f)
	case f.Hint == "":
		t.Errorf("%s: a fault without a hint: %s", what, text)
	case strings.Contains(text, "hunter2"):
		t.Errorf("%s: a fault repeats a secret: %s", what, text)
	case strings.ContainsFunc(text, hidden):
		t.Errorf("%s: a fault holds a hidden character: %q", what, text)
	case len(text) > 1000:
		t.Errorf("%s: a fault of %d bytes: %.200s", what, len(text), text)
	}
}

// schemaKey is a key of the schema: where it stands, and what it may be.
type schemaKey struct {
	pattern string
	shape   map[string]any
}

// store says that the key belongs to a store, which gives its texts a meaning.
func (k schemaKey) store() bool {
	return strings.HasPrefix(k.pattern, "backends/*/") || strings.HasPrefix(k.pattern, "queues/*/source/")
}

func schemaKeys(t *testing.T, kinds map[string]policy.Kind) []schemaKey {
	t.Helper()
	text, err := policy.Schema(kinds)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	collectKeys(root, "", all)
	var keys []schemaKey
	for _, pattern := range slices.Sorted(maps.Keys(all)) {
		keys = append(keys, schemaKey{pattern, all[pattern]})
	}
	return keys
}

func collectKeys(schema map[string]any, path string, all map[string]map[string]any) {
	visit := func(step string, value any) {
		if s, ok := value.(map[string]any); ok {
			child := strings.TrimPrefix(path+"/"+step, "/")
			all[child] = s
			collectKeys(s, child, all)
		}
	}
	for _, several := range []string{"anyOf", "oneOf"} {
		list, _ := schema[several].([]any)
		for _, s := range list {
			if s := s.(map[string]any); s["type"] == "object" {
				collectKeys(s, path, all)
			}
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range properties {
		visit(name, value)
	}
	visit("*", schema["additionalProperties"])
	visit("*", schema["items"])
}
