package demo_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/demo"
)

var update = flag.Bool("update", false, "write the golden files anew")

// self is the program, built once for all tests.
var self string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "demo-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	self = filepath.Join(dir, "redrive-mcp")
	if out, err := exec.Command("go", "build", "-o", self, "../..").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// told runs the demo as a person would.
func told(t *testing.T, args ...string) string {
	t.Helper()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, append([]string{"demo"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("demo %q: %v\n%s\n%s", args, err, out.String(), said.String())
	}
	if said.Len() > 0 {
		t.Errorf("demo %q wrote to standard error: %s", args, said.String())
	}
	if n := strings.Count(out.String(), "\n"); n >= 60 {
		t.Errorf("demo %q printed %d lines; a story has fewer than 60", args, n)
	}
	return out.String()
}

// normal replaces what differs from one telling to the next.
func normal(text, dir string) string {
	text = strings.ReplaceAll(text, self, "SELF")
	if dir != "" {
		text = strings.ReplaceAll(text, dir, "DIR")
	}
	for _, r := range []struct{ pattern, by string }{
		{`\S*redrive-demo-\d+`, "DIR"},
		{`--principal '?[^'\n]+'?`, "--principal USER"},
		{`1 of \S+|anyone at the command line`, "1 of USER"},
		{`"person [^"]+" made "person [^"]+"`, `"person USER" made "person USES"`},
		{`\br-[0-9a-z]{8}\b`, "r-ID"},
		{`(<<<|>>>)data [0-9a-f]{16}`, "${1}data NONCE"},
		{`line \d+ \(record \d+ expected\)`, "line N (record N expected)"},
		{`just now|\d+ s ago`, "AGE"},
		{`in \d+ (min|h)\b`, "TIME"},
		{`(\S) {2,}`, "$1  "},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.by)
	}
	return text
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the story differs from %s:\n%s", file, got)
	}
}

func TestStory(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	golden(t, "story.txt", normal(told(t), ""))
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("the demo left %v behind (%v)", left, err)
	}
}

// TestKeep tells the story twice in the same folder, and then plays with it as
// its end proposes.
func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder")
	for range 2 {
		golden(t, "kept.txt", normal(told(t, "--keep", dir), dir))
	}
	redrive := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if out := redrive("queues", "--policy", filepath.Join(dir, "policy.yaml")); !strings.Contains(out, "payments") {
		t.Errorf("queues does not show the queue: %s", out)
	}
	redrive("policy", "check")
	redrive("redrive", "payments", "--id", "30", "--reason", "the provider is back")
	redrive("demo", "worker", "--db", "jobs.db", "--until-idle")
	if out := redrive("queues", "--json"); !strings.Contains(out, `"letters": 9`) {
		t.Errorf("one of ten letters was redriven, and there should be nine: %s", out)
	}
}

// TestGoRun: the last lines name no file that is gone when they are read.
func TestGoRun(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "go-build1")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	passing := filepath.Join(temp, "redrive-mcp")
	if err := os.Link(self, passing); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for keep, want := range map[string][]string{
		"":  {"   go run . demo --keep DIR\n"},
		dir: {"   go build -o redrive-mcp . && claude mcp add redrive -- \"$PWD/redrive-mcp\" serve --policy ", "   go run . pending --policy " + dir, "   go run . demo worker --db " + dir},
	} {
		var out bytes.Buffer
		if err := demo.Run(t.Context(), demo.Options{Self: passing, Keep: keep, Out: &out}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), temp) {
			t.Errorf("keep %q: the story names %s", keep, temp)
		}
		for _, line := range want {
			if !strings.Contains(out.String(), line) {
				t.Errorf("keep %q: the story lacks %q:\n%s", keep, line, out.String())
			}
		}
	}
}

func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(mine, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := demo.Run(t.Context(), demo.Options{Self: self, Keep: dir, Out: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "something else than a demo") {
		t.Errorf("a folder of somebody else was taken: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a file of somebody else is gone: %v", err)
	}
}

// TestBrokenOff: whatever ends the story leaves nothing behind.
func TestBrokenOff(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		o    demo.Options
		want error
	}{
		{"cancelled", gone, demo.Options{Self: self, Out: &bytes.Buffer{}}, context.Canceled},
		{"nobody listens", t.Context(), demo.Options{Self: self, Out: deaf{}}, errDeaf},
		{"no program", t.Context(), demo.Options{Self: filepath.Join(t.TempDir(), "none"), Out: &bytes.Buffer{}}, os.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			if err := demo.Run(c.ctx, c.o); !errors.Is(err, c.want) {
				t.Errorf("have %v, want %v", err, c.want)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("the demo left %v behind (%v)", left, err)
			}
		})
	}
}

var errDeaf = errors.New("nobody listens")

type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errDeaf }
