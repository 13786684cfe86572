package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pairs are durations of two things that were measured in turns, so that a busy
// machine slows both.
type pairs struct{ ours, base []time.Duration }

func (p *pairs) add(ours, base time.Duration) {
	p.ours, p.base = append(p.ours, ours), append(p.base, base)
}

// report gives the medians in milliseconds, their difference and their ratio.
func (p *pairs) report(b *testing.B) {
	ours, base := median(p.ours), median(p.base)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours, "ms")
	b.ReportMetric(base, "base-ms")
	b.ReportMetric(ours-base, "extra-ms")
	b.ReportMetric(ours/base, "ratio")
}

// median is in milliseconds.
func median(list []time.Duration) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2].Seconds() * 1e3
}

// timed is how long f takes.
func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func must[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// build compiles what is benchmarked: a test binary would start with the
// packages of the tests as well.
func build(b *testing.B, packages ...string) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "program")
	out, err := exec.Command("go", append([]string{"build", "-o", bin}, packages...)...).CombinedOutput()
	if err != nil {
		b.Fatalf("go build %v: %v\n%s", packages, err, out)
	}
	return bin
}

// child is a server over stdio and its client.
type child struct {
	b   *testing.B
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

// start runs a server and asks for nothing yet.
func start(b *testing.B, env []string, program string, args ...string) *child {
	b.Helper()
	c := &child{b: b, cmd: exec.CommandContext(context.Background(), program, args...)}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), env...), os.Stderr
	c.in = must[io.WriteCloser](b)(c.cmd.StdinPipe())
	out := must[io.ReadCloser](b)(c.cmd.StdoutPipe())
	c.out = bufio.NewReaderSize(out, 1<<20)
	if err := c.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return c
}

// ask sends one request and returns the line of the answer.
func (c *child) ask(method, params string) []byte {
	c.b.Helper()
	c.n++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", c.n, method, params)
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.b.Fatalf("%s: %v", method, err)
	}
	return line
}

func (c *child) initialize() {
	c.b.Helper()
	answer := c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if !strings.Contains(string(answer), `"serverInfo"`) {
		c.b.Fatalf("initialize: %s", answer)
	}
	fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// call calls a tool and decodes its result.
func (c *child) call(tool, args string, into any) {
	c.b.Helper()
	line := c.ask("tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent json.RawMessage
		}
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Result.IsError {
		c.b.Fatalf("%s: %v, %.500s", tool, err, line)
	}
	if err := json.Unmarshal(answer.Result.StructuredContent, into); err != nil {
		c.b.Fatalf("%s: %v, %.500s", tool, err, line)
	}
}

// resident is the most memory that the process had so far, in MiB.
func (c *child) resident() float64 {
	c.b.Helper()
	status := must[[]byte](c.b)(os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid)))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib := must[int](c.b)(strconv.Atoi(strings.Fields(rest)[0]))
	return float64(kib) / 1024
}

// stop ends the input, as a client that goes does, and waits for the end.
func (c *child) stop() {
	c.b.Helper()
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		c.b.Fatal(err)
	}
}
