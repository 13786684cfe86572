package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// workplace is a folder with a job table, jobs in it, and the policy of the
// scripts with one queue more that sends one message a second.
type workplace struct {
	t   *testing.T
	dir string
	db  *sql.DB
}

const slowQueue = `
  slow:
    source: {backend: app, queue: slow}
    redrive: direct
    handler: {idempotent: true}
    send: {rate: 1/s}
    limits: {per_plan: 50, per_hour: 200}
`

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	w := &workplace{t: t, dir: t.TempDir()}
	text := strings.NewReplacer("$APP", fixtureBackend, "$WORK", w.dir).Replace(fixturePolicy + slowQueue)
	if err := os.WriteFile(filepath.Join(w.dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.db, err = sql.Open("sqlite", "file:"+filepath.Join(w.dir, "app.db")+"?_pragma=busy_timeout(5000)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.db.Close() })
	if _, err := w.db.Exec(jobTable); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *workplace) kill(queue string, count int) {
	w.t.Helper()
	if err := kill(w.db, []string{queue, fmt.Sprint(count), "HTTP 429 from the bank", `{"order":#,"currency":"EU"}`}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workplace) count(status string) (n int) {
	w.t.Helper()
	if err := w.db.QueryRow(`SELECT count(*) FROM jobs WHERE status = ?`, status).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// records are the lines of the log.
func (w *workplace) records() (all []*audit.Record) {
	w.t.Helper()
	folder, err := durable.Open(filepath.Join(w.dir, "state"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer folder.Close()
	for r, err := range audit.Read(context.Background(), folder, audit.Query{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, &r)
	}
	return all
}

// calls is how many messages the log has with a tool or method and a reason of
// refusal, those that were only counted among them. An empty tool is any.
func (w *workplace) calls(tool, reason string) (n int) {
	w.t.Helper()
	for _, r := range w.records() {
		if r.Phase != audit.PhaseCall || tool != "" && r.Tool != tool || !strings.Contains(r.Err, reason) {
			continue
		}
		count := 1
		for _, a := range r.Args {
			if a.Key == "count" { // this record stands for so many
				fmt.Sscan(fmt.Sprint(a.Value), &count)
			}
		}
		n += count
	}
	return n
}

// run is a command of a person.
func (w *workplace) run(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "redrive-mcp", args...)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// client is the other end of a server process.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func (w *workplace) serve() *client {
	w.t.Helper()
	c := &client{t: w.t, cmd: exec.CommandContext(w.t.Context(), "redrive-mcp", "serve", "--policy", "policy.yaml", "--principal", "luis")}
	c.cmd.Dir, c.cmd.Stderr = w.dir, &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	c.out = bufio.NewReaderSize(out, 1<<20)
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l); err != nil {
			c.t.Fatalf("sending %.60q: %v", l, err)
		}
	}
}

// response is one line of a server.
type response struct {
	ID     json.RawMessage
	Method string
	Result *struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent map[string]any
	}
	Error *struct {
		Code    int
		Message string
	}
	raw string
}

// says is what a model is told.
func (a response) says() string {
	switch {
	case a.Error != nil:
		return a.Error.Message
	case a.Result != nil && len(a.Result.Content) == 1:
		return a.Result.Content[0].Text
	}
	return a.raw
}

func (c *client) next() response {
	c.t.Helper()
	raw, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("reading an answer: %v, after %q; stderr %s", err, raw, c.stderr.String())
	}
	return c.read(raw)
}

func (c *client) read(raw string) (a response) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		c.t.Fatalf("the server wrote %q: %v", raw, err)
	}
	a.raw = raw
	if a.Method != "" {
		c.t.Errorf("the server asks or tells something of its own: %s", raw)
	}
	return a
}

// end closes the input and gives what is still answered, by id. The end must be
// a good one.
func (c *client) end() map[string]response {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Fatal(err)
	}
	rest := map[string]response{}
	for {
		raw, err := c.out.ReadString('\n')
		if raw != "" {
			a := c.read(raw)
			rest[string(a.ID)] = a
		}
		if err != nil {
			break
		}
	}
	if err := c.cmd.Wait(); err != nil || c.stderr.Len() > 0 {
		c.t.Errorf("the server ended with %v, stderr %q", err, c.stderr.String())
	}
	return rest
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"wire","version":"1"}}}` + "\n"

// modern is what every request since 2026-07-28 says of itself.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wire","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"progressToken":"p"}`

// call is a call in the older era, callModern one in the newer. more is put into
// its params.
func call(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, args)
}
