package cli_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// session FILE ARGS... runs the program as a server: it sends the lines of FILE,
// waits for as many answers as there are requests, and only then ends the input,
// as a client does. What the server said is kept in session.out; a word on
// standard error fails.
func session(ts *testscript.TestScript, neg bool, args []string) {
	input := ts.ReadFile(args[0])
	program := ""
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if _, err := os.Stat(filepath.Join(dir, "redrive-mcp")); err == nil {
			program = filepath.Join(dir, "redrive-mcp")
			break
		}
	}
	cmd := exec.Command(program, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "CLAUDE_CODE_SESSION_ID", "APP_RO_DSN", "APP_RW_DSN", "SQS_KEY"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	_, err = io.WriteString(in, input)
	ts.Check(err)
	var answers bytes.Buffer
	lines := bufio.NewReader(out)
	for range strings.Count(input, `"jsonrpc":"2.0","id":`) {
		line, err := lines.ReadString('\n')
		answers.WriteString(line)
		if err != nil {
			break
		}
	}
	ts.Check(in.Close())
	_, err = io.Copy(&answers, lines)
	ts.Check(err)
	ts.Check(cmd.Wait())
	if said.Len() > 0 {
		ts.Fatalf("standard error: %s", said.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("session.out"), answers.Bytes(), 0o600))
}
