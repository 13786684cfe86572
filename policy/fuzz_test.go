package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

func FuzzParse(f *testing.F) {
	archives, err := filepath.Glob("../testdata/policies/bad/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	good, err := os.ReadFile("../testdata/policies/whole.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	schema := compileSchemaOf(f, options().Kinds)
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(string) ([]byte, error) { return []byte(`{"type": "object"}`), nil }
		p, err := policy.Parse("policy.yaml", data, read, options())
		var faults *policy.Faults
		if err != nil && (!errors.As(err, &faults) || len(faults.All) == 0) {
			t.Fatalf("an error without faults: %v", err)
		}
		if err != nil {
			for _, fault := range faults.All {
				wantClear(t, "", fault)
			}
			return
		}
		if err := schema.Validate(toJSON(t, data)); err != nil {
			t.Errorf("what loads does not satisfy the schema: %v", err)
		}
		for _, warning := range policy.Check(p, noon) {
			wantClear(t, "", warning)
		}
		for _, q := range p.Queues {
			q.Explain(settled())
			d := q.Decide(policy.Facts{})
			if d.Effect == policy.Direct && (!q.Handler.Idempotent || d.Limits.PerHour == 0) {
				t.Errorf("direct without a vouched handler or an hourly limit: %+v", d)
			}
			if q.Backend == nil || q.Source == nil {
				t.Errorf("queue %q has no store", q.Name)
			}
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"10m", "30d", "0s", "-1h", "1.5d", "9999999999d", "d", "1h30m", "µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := policy.ParseDuration(s); err == nil && d <= 0 {
			t.Errorf("%q is %v", s, d)
		}
	})
}
