package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/cli"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// TestDocumented holds the table of commands against docs/cli.md: each command
// has a section with an example, and no section is about a command that is gone.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string)
	for part := range strings.SplitSeq(string(data), "\n### ") {
		title, text, _ := strings.Cut(part, "\n")
		if name, ok := strings.CutPrefix(title, "`redrive-mcp "); ok {
			sections[strings.TrimSuffix(name, "`")] = text
		}
	}
	usages := cli.Usages()
	for _, usage := range usages {
		text, ok := sections[usage]
		if !ok {
			t.Errorf("docs/cli.md has no section ### `redrive-mcp %s`", usage)
			continue
		}
		name, _, _ := strings.Cut(usage, " [")
		name, _, _ = strings.Cut(name, " Q")
		name, _, _ = strings.Cut(name, " I")
		if !strings.Contains(text, "\n    $ ") || !strings.Contains(text, "redrive-mcp "+strings.Fields(name)[0]) {
			t.Errorf("the section about %q has no example", usage)
		}
		delete(sections, usage)
	}
	for title := range sections {
		t.Errorf("docs/cli.md has a section about %q, which is no command", title)
	}
}

// TestDocumentHoldsTheScript: the auditor's page has the script of a bundle.
func TestDocumentHoldsTheScript(t *testing.T) {
	script, err := os.ReadFile("commits.sh")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/audit-format.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```sh\n"+string(script)+"```\n") {
		t.Error("docs/audit-format.md does not hold internal/cli/commits.sh as it is")
	}
}

// TestPolicySchema holds the checked-in schema against the program's.
func TestPolicySchema(t *testing.T) {
	const file = "../../docs/policy.schema.json"
	want, err := policy.Schema(gate.PolicyKinds(drivers()))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the program prints; run go test ./internal/cli -run PolicySchema -update", file)
	}
}

// The policy of the README loads.
func TestReadmePolicy(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	doc, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the README has no policy")
	}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(string) (string, bool) { return "postgres://u@127.0.0.1:1/db", true }
	if _, err := gate.LoadPolicy(gate.Options{PolicyPath: path, Drivers: drivers(), Env: env}); err != nil {
		t.Error(err)
	}
}
