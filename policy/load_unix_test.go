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
	if len(p.Files) != 2 || p.Files[0].Name != "policy.yaml" || p.Files[1].Name != "s/body.json" {
		t.Errorf("%+v", p.Files)
	}
}
