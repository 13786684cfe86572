package policy_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}

func TestExplain(t *testing.T) {
	p := load(t, "design.yaml")
	for _, test := range []struct {
		name, queue string
		change      func(*policy.Facts)
	}{
		{"direct", "orders", func(*policy.Facts) {}},
		{"approval", "orders", func(f *policy.Facts) { f.Replays = 2 }},
		{"wait", "orders", func(f *policy.Facts) { f.LastArrival = noon.Add(-3 * 60e9) }},
		{"unknown", "orders", func(f *policy.Facts) { f.ReplaysKnown, f.LastArrivalKnown = false, false }},
		{"never", "orders", func(f *policy.Facts) { f.Message = "moov atom not found" }},
		{"frozen", "orders", func(f *policy.Facts) { at(f, "2026-11-30T12:00:00Z") }},
		{"no-rules", "jobs", func(*policy.Facts) {}},
	} {
		f := settled()
		test.change(&f)
		golden(t, "explain-"+test.name+".txt", []byte(p.Queues[test.queue].Explain(f)))
	}
}

func TestSchema(t *testing.T) {
	text, err := policy.Schema(options().Kinds)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "schema.json", text)
	again, err := policy.Schema(options().Kinds)
	if err != nil || !bytes.Equal(text, again) {
		t.Error("two schemas of the same kinds differ", err)
	}
}

// What loads must satisfy the schema, and what an editor can see to be wrong
// must not.
func TestSchemaAgreesWithLoad(t *testing.T) {
	schema := compileSchemaOf(t, options().Kinds)
	good, err := filepath.Glob("../testdata/policies/*.yaml")
	if err != nil || len(good) == 0 {
		t.Fatal(err, "no policies")
	}
	for _, name := range good {
		load(t, filepath.Base(name))
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(toJSON(t, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{
		"structure/unknown-key", "structure/unknown-key-deep", "structure/unknown-key-of-store", "structure/unknown-key-in-own-form",
		"structure/no-version", "structure/version-2", "values/state-missing", "values/effect", "values/rate", "values/duration-bare",
		"values/zero-limit", "values/time", "rules/no-do", "rules/empty-list", "queues/no-backend", "queues/name", "queues/backend-type",
	} {
		group, name, _ := strings.Cut(bad, "/")
		if name == "time" {
			group = "freeze"
		}
		if schema.Validate(toJSON(t, badPolicy(t, group, name))) == nil {
			t.Errorf("%s satisfies the schema", bad)
		}
	}
}

func compileSchemaOf(t testing.TB, kinds map[string]policy.Kind) *jsonschema.Schema {
	t.Helper()
	text, err := policy.Schema(kinds)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("policy.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func badPolicy(t *testing.T, group, name string) []byte {
	t.Helper()
	archive, err := txtar.ParseFile("../testdata/policies/bad/" + group + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == name+".yaml" {
			return f.Data
		}
	}
	t.Fatalf("there is no %s in %s", name, group)
	return nil
}

// toJSON is a policy as an editor reads it: by YAML 1.2, where only numbers,
// booleans and null are not text.
func toJSON(t testing.TB, data []byte) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return jsonOf(doc.Content[0])
}

func jsonOf(n *yaml.Node) any {
	switch {
	case n.Kind == yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			object[n.Content[i].Value] = jsonOf(n.Content[i+1])
		}
		return object
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, jsonOf(item))
		}
		return list
	case n.Tag == "!!null":
		return nil
	case n.Tag == "!!bool":
		return strings.ToLower(n.Value) == "true"
	case n.Tag == "!!int" || n.Tag == "!!float":
		var f float64
		if err := n.Decode(&f); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
	}
	return n.Value
}

func TestCheck(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/lints.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = string(f.Data)
	}
	var files []txtar.File
	for _, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".yaml")
		if !ok {
			continue
		}
		var got strings.Builder
		for _, w := range policy.Check(parse(t, string(f.Data)), noon) {
			fmt.Fprintln(&got, w)
		}
		if got.String() != want[name+".want"] && !*update {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got.String(), want[name+".want"])
		}
		files = append(files, f, txtar.File{Name: name + ".want", Data: []byte(got.String())})
	}
	if *update {
		archive.Files = files
		if err := os.WriteFile("testdata/lints.txt", txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
