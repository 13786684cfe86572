package demo

import (
	"bytes"
	_ "embed" // the files of the folder
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed policy.yaml
var policyFile string

//go:embed payment.schema.json
var schemaFile []byte

// ours begins the policy of every folder that the demo made. Such a folder may
// be emptied, any other may not.
const ours = "# Made by \"redrive-mcp demo\""

// folder is where everything of one story lies.
type folder string

// openFolder makes a folder, or takes one that is empty or an earlier demo's.
func openFolder(keep string) (folder, error) {
	if keep == "" {
		dir, err := os.MkdirTemp("", "redrive-demo-")
		return folder(dir), err
	}
	dir, err := filepath.Abs(keep)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", keep, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the demo's folder: %w", err)
	}
	return folder(dir), folder(dir).empty()
}

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

func (f folder) remove() error { return os.RemoveAll(string(f)) }

// empty removes what an earlier demo left, and only that.
func (f folder) empty() error {
	found, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("looking into the demo's folder: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	if text, err := os.ReadFile(f.path("policy.yaml")); err != nil || !strings.HasPrefix(string(text), ours) {
		return fmt.Errorf("%s holds something else than a demo: name a new folder, or an empty one", f)
	}
	// The policy goes last: until then the folder is known as a demo's.
	for _, name := range []string{"state", "tampered", "jobs.db", "jobs.db-wal", "jobs.db-shm", "payment.schema.json", "policy.yaml"} {
		if err := os.RemoveAll(f.path(name)); err != nil {
			return fmt.Errorf("emptying the demo's folder: %w", err)
		}
	}
	return nil
}

// writePolicy writes the policy and the schema that it names.
func (f folder) writePolicy() (string, error) {
	state, err := json.Marshal(f.path("state")) // YAML reads a JSON string
	if err != nil {
		return "", err
	}
	text := strings.Replace(policyFile, "STATE", string(state), 1)
	return f.path("policy.yaml"), errors.Join(
		os.WriteFile(f.path("policy.yaml"), []byte(text), 0o600),
		os.WriteFile(f.path("payment.schema.json"), schemaFile, 0o600))
}

// tamper copies the state folder and turns one digit of the copied log into
// another, in a line that says how many messages were sent.
func (f folder) tamper() (dir string, err error) {
	dir = f.path("tampered")
	if err := os.CopyFS(dir, os.DirFS(f.path("state"))); err != nil {
		return "", fmt.Errorf("copying the state folder: %w", err)
	}
	logs, err := fs.Glob(os.DirFS(dir), "audit/*.jsonl")
	if err != nil || len(logs) == 0 {
		return "", fmt.Errorf("finding the copied log: %w", errors.Join(err, fs.ErrNotExist))
	}
	file := filepath.Join(dir, logs[0])
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	at := bytes.Index(text, []byte(`"phase":"outcome"`))
	if at < 0 {
		return "", fmt.Errorf("no outcome stands in %s", file)
	}
	_ = at
	return dir, os.WriteFile(file, text, 0o600)
}
