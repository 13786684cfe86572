package cli_test

import (
	"flag"
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/cli"
)

var update = flag.Bool("update", false, "write golden files anew")

func drivers() map[string]backends.Driver {
	out := make(map[string]backends.Driver)
	for _, d := range []backends.Driver{sqljobs.Postgres(), sqljobs.SQLite()} {
		out[d.Kind] = d
	}
	return out
}

// TestMain lets scripts run this test binary as the program itself and as the
// application around it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"redrive-mcp": func() { os.Exit(cli.Main(cli.Program{Drivers: drivers(), Version: "1.2.3"})) },
		"jobs":        jobs,
	})
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
			"expand": expand,
			"code":   code,
			"pick":   pick,
			"edit":   edit,
		},
	})
}

// expand FILE... fills in $WORK, $USER and $HOST, which a file of a script
// cannot know.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	u, err := user.Current()
	ts.Check(err)
	host, err := os.Hostname()
	ts.Check(err)
	for _, name := range args {
		text := strings.NewReplacer("$WORK", ts.Getenv("WORK"), "$USER", u.Username, "$HOST", host).Replace(ts.ReadFile(name))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
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

// edit FILE OLD NEW replaces the first OLD in a file.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), info.Mode()))
}
