package policy_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

func TestLoad(t *testing.T) {
	p := load(t, "design.yaml")
	q, jobs := p.Queues["orders"], p.Queues["jobs"]
	a := q.Approval
	got := fmt.Sprintln(p.State, filepath.Base(p.Folder), p.Defaults) +
		fmt.Sprintln(q.Backend.Kind, q.Backend.Config.(*sqsBackend).Region, q.Source.(*sqsSource).Destinations) +
		fmt.Sprintln(a.People(), a.Count, a.TTL, a.ValidFor, a.DenyFor, a.MaxMessages, a.MaxPending, a.Require, a.Separation) +
		fmt.Sprintln(q.Patch.Allow, q.Patch.Schema.Name, q.Redact.Paths, q.Redact.Text, q.Redact.People, q.Send) +
		fmt.Sprintln(jobs.Backend.Config.(*postgresBackend).ReadEnv, jobs.Limits, jobs.Send, jobs.Redact.People, jobs.Approval.Count, jobs.Approval.Proof)
	want := `/var/lib/redrive policies {agent 15m0s reset {720h0m0s} {metadata}}
sqs eu-west-1 [{orders false}]
[ana luis] 1 1h0m0s 30m0s 24h0m0s 5000 20 [fix] agent
[/currency /customer/email] orders.schema.json [/card /customer/email] [\b\d{13,19}\b] shown {5 reset}
APP_RO_DSN at most 50 a request, 200 an hour, 2 times a message, 10m between two redrives of a message {20 reset} redacted 1 none
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestDigest(t *testing.T) {
	p := load(t, "design.yaml")
	lines := ""
	for _, name := range []string{"design.yaml", "orders.schema.json"} { // sorted
		data, err := os.ReadFile("../testdata/policies/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines += fmt.Sprintf("%s %x\n", name, sha256.Sum256(data))
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(lines))); p.Digest != want {
		t.Errorf("digest %s, want %s", p.Digest, want)
	}
}

// A file that changes while the policy is read is read once, so that the digest
// is over the bytes that are used, whoever names it.
func TestEveryFileIsReadOnce(t *testing.T) {
	reads := 0
	read := func(string) ([]byte, error) {
		reads++
		return fmt.Appendf(nil, `{"maxProperties": %d}`, reads-1), nil
	}
	p, err := policy.Parse("policy.yaml", []byte(head+`
queues:
  a: {source: {backend: aws, dlq: a}, patch: {allow: [/a], schema: body.json}}
  b: {source: {backend: aws, dlq: b}, patch: {allow: [/a], schema: body.json}}
`), read, options())
	if err != nil || reads != 1 || len(p.Files) != 2 {
		t.Fatalf("%d reads, files %+v, %v", reads, p.Files, err)
	}
	for name, q := range p.Queues {
		if string(q.Patch.Schema.Data) != string(p.Files[0].Data) || p.Files[0].Digest != fmt.Sprintf("%x", sha256.Sum256(q.Patch.Schema.Data)) {
			t.Errorf("%s uses %s, and the digest is over %s", name, q.Patch.Schema.Data, p.Files[0].Data)
		}
		if why := q.Patch.Schema.Validate([]byte(`{"a": 1}`)); len(why) != 1 {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// The digest is that of sorted lines, also where one name begins like another.
func TestDigestOfNamesWithSpaces(t *testing.T) {
	var text strings.Builder
	text.WriteString(head + "queues:\n")
	names := []string{"a", "a b", "a0", "a-b", "s/a", "s a"}
	for i, name := range names {
		fmt.Fprintf(&text, "  q%d: {source: {backend: aws, dlq: d%d}, patch: {allow: [/a], schema: %q}}\n", i, i, name)
	}
	p, err := policy.Parse("p.yaml", []byte(text.String()), func(name string) ([]byte, error) { return fmt.Appendf(nil, `{"title": %q}`, name), nil }, options())
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{fmt.Sprintf("p.yaml %x\n", sha256.Sum256([]byte(text.String())))}
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("%s %x\n", name, sha256.Sum256(fmt.Appendf(nil, `{"title": %q}`, name))))
	}
	slices.Sort(lines)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "")))); p.Digest != want {
		t.Errorf("digest %s, want %s", p.Digest, want)
	}
}

const withSchema = head + `
queues:
  q: {source: {backend: aws, dlq: d}, patch: {allow: [/a], schema: s/body.json}}
`

// folder is a folder with a policy that names s/body.json.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "s"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "policy.yaml"), withSchema)
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func loadError(t *testing.T, dir string) string {
	t.Helper()
	_, err := policy.Load(filepath.Join(dir, "policy.yaml"), options())
	var faults *policy.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("%v, want faults", err)
	}
	return err.Error()
}

func TestLoadNoSuchFile(t *testing.T) {
	dir := t.TempDir()
	want := filepath.Join(dir, "policy.yaml") + ": cannot be read: no such file or directory (name the policy file with --policy)"
	if got := loadError(t, dir); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTooLarge(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "policy.yaml"), withSchema+strings.Repeat("#\n", 1<<19))
	if got := strings.TrimPrefix(loadError(t, dir), dir+"/"); got != "policy.yaml:1:1: the file is larger than 1 MiB (split what is not policy out of it)" {
		t.Error(got)
	}
}

func TestWorldWritable(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "s", "body.json"), "{}")
	name := filepath.Join(dir, "policy.yaml")
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o646: true} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		p, err := policy.Load(name, options())
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for _, w := range policy.Check(p, time.Time{}) {
			got = got || strings.Contains(w.Why, "everybody on this machine may write")
		}
		if got != want {
			t.Errorf("mode %o: warned %v", mode, got)
		}
	}
}

func TestEnvironmentIsWarnedOf(t *testing.T) {
	o := options()
	o.Env = func(name string) (string, bool) { return "", name == "APP_RO_DSN" }
	p, err := policy.Load("../testdata/policies/design.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Error() != "../testdata/policies/design.yaml:5:64: the environment variable APP_RW_DSN is not set (set it where the program runs)" {
		t.Errorf("%v", p.Warnings)
	}
}

func TestStoreFaultsHavePlaces(t *testing.T) {
	p := load(t, "design.yaml")
	q := p.Queues["orders"]
	for got, want := range map[string]string{
		q.SourceFault("dlq", "wrong", "").Error():                "../testdata/policies/design.yaml:18:28: wrong (dlq: name of the dead-letter queue)",
		q.SourceFault("none.such", "wrong", "right").Error():     "../testdata/policies/design.yaml:18:5: wrong (right)",
		q.Backend.Fault("region", "wrong", "").Error():           "../testdata/policies/design.yaml:4:22: wrong (region: AWS region)",
		p.Backends["app"].Fault("read_env", "wrong", "").Error(): "../testdata/policies/design.yaml:5:42: wrong (read_env: variable with the DSN for reading)",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestSourceKeyIgnoresLayout(t *testing.T) {
	a := parse(t, head+"queues: {q: {source: {backend: aws, dlq: d, destinations: [x]}}}")
	b := parse(t, head+"queues:\n  other:\n    source:\n      destinations:\n        - 'x'\n      dlq: \"d\"\n      backend: aws\n")
	if a.Queues["q"].SourceKey != b.Queues["other"].SourceKey {
		t.Errorf("%s and %s", a.Queues["q"].SourceKey, b.Queues["other"].SourceKey)
	}
}

func TestStoreTypesDecodeThemselves(t *testing.T) {
	p := parse(t, `
version: 1
state: /s
backends:
  app: {type: postgres, set: {locked_by: null, token: plain, at: {now: true}}}
`)
	set := p.Backends["app"].Config.(*postgresBackend).Set
	if got := fmt.Sprint(set); got != "map[at:{ [now]} locked_by:{ []} token:{plain []}]" {
		t.Error(got)
	}
}
