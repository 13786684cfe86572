package policy_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

// Every example of the reference loads. One that shows a part of a policy is
// completed by the top-level keys that it lacks.
func TestDocumentedExamplesLoad(t *testing.T) {
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot("../testdata/policies")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) < 10 {
		t.Fatalf("only %d examples", len(blocks))
	}
	for _, block := range blocks {
		example, _, _ := strings.Cut(block, "```")
		if _, err := policy.Parse("policy.yaml", completed(t, example), root.ReadFile, options()); err != nil {
			t.Errorf("%v\n%s", err, example)
		}
	}
}

func completed(t *testing.T, example string) []byte {
	t.Helper()
	var keys map[string]any
	if err := yaml.Unmarshal([]byte(example), &keys); err != nil {
		t.Fatalf("%v\n%s", err, example)
	}
	for key, value := range map[string]string{
		"version": "1", "state": "/var/lib/redrive", "backends": "{aws: {type: sqs}}",
		"people": "{ana: {}, luis: {}}", "groups": "{oncall: [ana, luis]}",
	} {
		if _, ok := keys[key]; !ok {
			// A group of the fixture may name people that the example replaces.
			if _, people := keys["people"]; key == "groups" && people {
				continue
			}
			example += key + ": " + value + "\n"
		}
	}
	return []byte(example)
}

// Every key of the format is in the reference. Keys of a store are described
// with the store.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := policy.Schema(nil)
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatal(err)
	}
	count := 0
	eachKey(root, func(key string) {
		count++
		if !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("the key %q is not in the reference", key)
		}
	})
	if count < 60 {
		t.Errorf("only %d keys were looked at", count)
	}
}

func eachKey(schema any, f func(string)) {
	switch s := schema.(type) {
	case []any:
		for _, item := range s {
			eachKey(item, f)
		}
	case map[string]any:
		for name, value := range s {
			if properties, ok := value.(map[string]any); ok && name == "properties" {
				for key := range properties {
					f(key)
				}
			}
			eachKey(value, f)
		}
	}
}
