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

// writePolicy writes the policy and the schema that it names. Where a policy
// cannot name the person, anybody may approve.
func (f folder) writePolicy(person string, named bool) (string, error) {
	state, err := json.Marshal(f.path("state")) // YAML reads a JSON string
	if err != nil {
		return "", fmt.Errorf("writing the policy: %w", err)
	}
	text := strings.Replace(policyFile, "STATE", string(state), 1)
	if !named {
		text = strings.NewReplacer("people: {\"PERSON\": {}}\n", "", "    approval: {from: [\"PERSON\"]}\n", "").Replace(text)
	}
	text = strings.ReplaceAll(text, "PERSON", person)
	return f.path("policy.yaml"), errors.Join(
		os.WriteFile(f.path("policy.yaml"), []byte(text), 0o600),
		os.WriteFile(f.path("payment.schema.json"), schemaFile, 0o600))
}

// copyPrivate copies a folder for its owner alone: a state folder that others
// may enter is refused.
func copyPrivate(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.Chmod(name, 0o700)
		}
		return os.Chmod(name, 0o600)
	})
}

// tamper copies the state folder and changes one byte of the copy: the last
// letter of who approved. It says what became what.
func (f folder) tamper() (change string, err error) {
	dir := f.path("tampered")
	if err := copyPrivate(dir, f.path("state")); err != nil {
		return "", fmt.Errorf("copying the state folder: %w", err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "audit", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		return "", fmt.Errorf("the copied log should be one file, and there are %d", len(logs))
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		return "", fmt.Errorf("reading the copied log: %w", err)
	}
	const before = `"phase":"approval","actor":"`
	_, rest, found := bytes.Cut(text, []byte(before))
	actor, _, ended := bytes.Cut(rest, []byte{'"'})
	if !found || !ended || len(actor) == 0 {
		return "", errors.New("no approval stands in the copied log")
	}
	was := string(actor)
	last := &actor[len(actor)-1] // within text
	*last = 'a' + (*last-'a'+1)%26
	return fmt.Sprintf("%q made %q", was, actor), os.WriteFile(logs[0], text, 0o600)
}
