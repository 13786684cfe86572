package cli_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs"
	"github.com/redrive-mcp/redrive-mcp/internal/cli"
	"github.com/redrive-mcp/redrive-mcp/internal/durable/badflush"
)

var update = flag.Bool("update", false, "write golden files anew")

func drivers() map[string]backends.Driver {
	out := make(map[string]backends.Driver)
	for _, d := range []backends.Driver{sqljobs.Postgres(), sqljobs.SQLite(), sqs.Driver()} {
		out[d.Kind] = doubtful(d)
	}
	return out
}

// TestMain lets scripts run this test binary as the program itself and as the
// application around it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"redrive-mcp": func() { os.Exit(cli.Main(cli.Program{Drivers: drivers(), Version: "1.2.3"})) },
		"jobs":        jobs,
		"unflushed":   unflushed,
	})
}

// unflushed is the program on a disk that flushes nothing of what UNFLUSHED names,
// the log or the ledger, or nothing at all.
func unflushed() {
	kind := map[string]badflush.Kind{"log": badflush.Data, "ledger": badflush.Sync}[os.Getenv("UNFLUSHED")]
	if err := badflush.Forever(kind); err != nil {
		fmt.Fprintln(os.Stderr, "making flushes fail:", err)
		os.Exit(99)
	}
	os.Exit(cli.Main(cli.Program{Drivers: drivers(), Version: "1.2.3"}))
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ESC", "\x1b")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"expand":   expand,
			"fixture":  fixture,
			"pg":       pg,
			"sqs":      awsQueue,
			"session":  session,
			"code":     code,
			"pick":     pick,
			"edit":     edit,
			"op":       op,
			"tampered": tampered,
			"copy":     copyFolder,
			"fields":   fields,
			"answer":   answer,
			"there":    there,
		},
	})
}

// code N COMMAND... runs the program and holds its exit code against N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("redrive-mcp", args[1:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if (got == args[0]) == neg {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// pick VARIABLE FIELD keeps the value of the first `"FIELD": "value"` of the last
// output in a variable.
func pick(ts *testscript.TestScript, neg bool, args []string) {
	_, rest, ok := strings.Cut(ts.ReadFile("stdout"), `"`+args[1]+`": "`)
	if !ok {
		ts.Fatalf("the output has no %s", args[1])
	}
	value, _, _ := strings.Cut(rest, `"`)
	ts.Setenv(args[0], value)
}

// edit FILE OLD NEW replaces the first OLD in a file; \n in NEW is a new line.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], strings.ReplaceAll(args[2], `\n`, "\n"), 1)), info.Mode()))
}

// there FILE waits until a file is there.
func there(ts *testscript.TestScript, neg bool, args []string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(ts.MkAbs(args[0])); !errors.Is(err, fs.ErrNotExist) {
			ts.Check(err)
			return
		}
	}
}

// answer FILE DIGEST writes what a person would type to approve.
func answer(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1][:4]+"\n"), 0o600))
}

// op VARIABLE keeps the operation of the record that was printed last.
func op(ts *testscript.TestScript, neg bool, args []string) {
	_, rest, _ := strings.Cut(ts.ReadFile("stdout"), `"op":"`)
	value, _, _ := strings.Cut(rest, `"`)
	ts.Setenv(args[0], value)
}

// tampered FILE BEFORE BUNDLE PLAN PATTERN changes the first byte after BEFORE
// in a file, holds what the bundle's script says of that against PATTERN, and
// puts the file back.
func tampered(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	at := strings.Index(text, args[1]) + len(args[1])
	if at < len(args[1]) {
		ts.Fatalf("%s has no %s", args[0], args[1])
	}
	other := "1"
	if text[at] == '1' {
		other = "2"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:at]+other+text[at+1:]), 0o600))
	cmd := exec.Command("sh", "commits.sh", args[3])
	cmd.Dir = ts.MkAbs(args[2])
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !regexp.MustCompile(args[4]).Match(out) {
		ts.Fatalf("with another byte after %s the script says %q (%v), want %q", args[1], out, err, args[4])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// copy FROM TO copies a folder with the modes of its files.
func copyFolder(ts *testscript.TestScript, neg bool, args []string) {
	from, to := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	ts.Check(filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, name), 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	}))
}

// fields NAME appends the names of the fields of the JSON that was printed last
// to fields.out, each once, in their order.
func fields(ts *testscript.TestScript, neg bool, args []string) {
	var names []string
	for line := range strings.SplitSeq(ts.ReadFile("stdout"), "\n") {
		name, _, ok := strings.Cut(strings.TrimSpace(line), `": `)
		if name = strings.TrimPrefix(name, `"`); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f, err := os.OpenFile(ts.MkAbs("fields.out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = fmt.Fprintf(f, "%s: %s\n", args[0], strings.Join(names, " "))
	ts.Check(errors.Join(err, f.Close()))
}
