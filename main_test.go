package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The built program knows the stores that are named here, and says which they
// are to whoever asks for another.
func TestStores(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "redrive-mcp")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "policy.yaml")
	text := strings.Replace(startPolicy, "STATE", filepath.Join(dir, "state"), 1)
	for kind, says := range map[string]string{"postgres": "", "nosuch": "postgres, sqlite, sqs"} {
		if err := os.WriteFile(file, []byte(strings.Replace(text, "type: postgres", "type: "+kind, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "policy", "check", "--policy", file).CombinedOutput()
		if (err == nil) != (says == "") || !strings.Contains(string(out), says) {
			t.Errorf("type %s: %v\n%s", kind, err, out)
		}
	}
}
