//go:build unix

package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

func TestSchemaFileStaysInFolder(t *testing.T) {
	dir, outside := folder(t), filepath.Join(t.TempDir(), "body.json")
	write(t, outside, "{}")
	body := filepath.Join(dir, "s", "body.json")
	if err := os.Symlink(outside, body); err != nil {
		t.Fatal(err)
	}
	if got := loadError(t, dir); !strings.Contains(got, `the schema "s/body.json" cannot be read`) {
		t.Error(got)
	}
	if err := os.Remove(body); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(body, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := loadError(t, dir); !strings.Contains(got, "not a regular file") {
		t.Error(got)
	}
	if err := os.Remove(body); err != nil {
		t.Fatal(err)
	}
	write(t, body, `{"type": "object"}`)
	p, err := policy.Load(filepath.Join(dir, "policy.yaml"), options())
	if err != nil {
		t.Fatal(err)
	}
	// A link is followed where it stays in the folder.
	if err := os.Symlink("body.json", filepath.Join(dir, "s", "link.json")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "linked.yaml"), strings.Replace(withSchema, "s/body.json", "s/link.json", 1))
	if p, err := policy.Load(filepath.Join(dir, "linked.yaml"), options()); err != nil || p.Files[1].Name != "s/link.json" {
		t.Errorf("%+v, %v", p, err)
	}
	if len(p.Files) != 2 || p.Files[0].Name != "policy.yaml" || p.Files[1].Name != "s/body.json" {
		t.Errorf("%+v", p.Files)
	}
}

// What is no regular file is refused, and not waited for.
func TestPolicyIsARegularFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "policy.yaml")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := loadError(t, dir); got != name+": cannot be read: it is not a regular file (name the policy file with --policy)" {
		t.Error(got)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := loadError(t, dir); got != name+": cannot be read: it is a folder (name the policy file with --policy)" {
		t.Error(got)
	}
}

// A fault names the file by the path that it was asked for by.
func TestFaultsNameThePath(t *testing.T) {
	dir := folder(t)
	name := filepath.Join(dir, "policy.yaml")
	if got := loadError(t, dir); !strings.HasPrefix(got, name+":") {
		t.Error(got)
	}
	write(t, filepath.Join(dir, "s", "body.json"), "{}")
	p, err := policy.Load(name, options())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range policy.Check(p, noon) {
		if !strings.HasPrefix(w.Place(), name+":") {
			t.Error(w)
		}
	}
	if f := p.Queues["q"].SourceFault("dlq", "wrong", ""); !strings.HasPrefix(f.Place(), name+":") {
		t.Error(f)
	}
}
