package policy_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Every bad policy stands in an archive under testdata/policies/bad, followed
// by the faults that are to be found in it.
func TestBadPolicies(t *testing.T) {
	archives, err := filepath.Glob("../testdata/policies/bad/*.txt")
	if err != nil || len(archives) == 0 {
		t.Fatal(err, "no archives")
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txt"), func(t *testing.T) { testArchive(t, archive) })
	}
}

func testArchive(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = string(f.Data)
	}
	var files []txtar.File
	for _, f := range archive.Files {
		if test, ok := strings.CutSuffix(f.Name, ".yaml"); ok {
			got := refusal(t, test, f.Data)
			if got != want[test+".want"] && !*update {
				t.Errorf("%s:\n%s\ngot:\n%s\nwant:\n%s", test, f.Data, got, want[test+".want"])
			}
			files = append(files, f, txtar.File{Name: test + ".want", Data: []byte(got)})
		}
	}
	if *update {
		archive.Files = files
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// refusal is the error of a policy that must have one.
func refusal(t *testing.T, test string, data []byte) string {
	root, err := os.OpenRoot("../testdata/policies")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, err = policy.Parse("policy.yaml", data, root.ReadFile, options())
	var faults *policy.Faults
	if !errors.As(err, &faults) {
		t.Errorf("%s: %v, want faults", test, err)
		return ""
	}
	for _, f := range faults.All {
		if strings.Contains(f.Error(), "hunter2") {
			t.Errorf("%s: a fault repeats a secret: %s", test, f)
		}
		if strings.ContainsAny(f.Error(), "\n\x1b\t") {
			t.Errorf("%s: a fault holds a control character: %q", test, f)
		}
	}
	return faults.Error() + "\n"
}
