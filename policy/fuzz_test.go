package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// FuzzValue tries values of each form: what loads satisfies the schema, and is
// within its bounds.
func FuzzValue(f *testing.F) {
	forms := []string{
		"limits: {cooldown: %s, per_hour: 1}", "send: {rate: %s}", "send: {attempts: %s}", "limits: {per_hour: %s}",
		"rules: [{name: r, do: never, when: {job: %s}}]", "redact: {text: [%s]}", "patch: {allow: [%s]}", "approval: {from: %s}", "redrive: %s",
	}
	for _, s := range []string{"10m", "30d", "0s", "-1h", "1.5d", "9999999999d", "1h30m", "µs", "5/s", "0.01/h", "1e-9/s", "reset", "7", "007", "+5", "0x10", "never", "[a, b]", "'(a|b)'", "/a/*", `"\0"`, "~", "{}"} {
		for i := range forms {
			f.Add(i, s)
		}
	}
	schema := compileSchemaOf(f, options().Kinds)
	f.Fuzz(func(t *testing.T, form int, value string) {
		text := head + "queues:\n  q:\n    source: {backend: aws, dlq: d}\n    " + fmt.Sprintf(forms[max(0, form)%len(forms)], value) + "\n"
		p, err := policy.Parse("policy.yaml", []byte(text), nil, options())
		if err != nil {
			return
		}
		if err := schema.Validate(toJSON(t, []byte(text))); err != nil {
			t.Errorf("%s\nloads and does not satisfy the schema: %v", text, err)
		}
		for _, q := range p.Queues {
			const century = 36500 * 24 * time.Hour
			if q.Limits.Cooldown < 0 || q.Limits.Cooldown > century || q.Limits.PerHour < 0 || q.Send.Rate != 0 && (q.Send.Rate < 1e-6 || q.Send.Rate > 1e6) {
				t.Errorf("%s\nis %+v, %+v", text, q.Limits, q.Send)
			}
		}
	})
}
