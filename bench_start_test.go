package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// emptyServer is the least that answers `initialize`.
const emptyServer = `package main

import "github.com/mark3labs/mcp-go/server"

func main() { server.ServeStdio(server.NewMCPServer("empty", "1")) }
`

const startPolicy = `version: 1
state: STATE
backends:
  app:
    type: postgres
    dsn_env: NOT_SET
    jobs:
      table: public.jobs
      id: id
      queue: queue
      payload: payload
      dead: {column: status, in: [failed]}
      dead_at: failed_at
      redrive: {update: {set: {status: queued}}}
people: {ana: {}}
queues:
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
`

// BenchmarkStart is the time from the start of the process to the answer to
// initialize, with a state folder that is new and one that is in use, against an
// empty server of the same library.
func BenchmarkStart(b *testing.B) {
	program := build(b, ".")
	source := filepath.Join(b.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte(emptyServer), 0o600); err != nil {
		b.Fatal(err)
	}
	empty := build(b, source)
	b.Run("InUse", func(b *testing.B) {
		policy := policyFile(b)
		startOnce(b, program, "serve", "--policy", policy)
		benchStart(b, empty, program, func() string { return policy })
	})
	b.Run("New", func(b *testing.B) {
		benchStart(b, empty, program, func() string { return policyFile(b) })
	})
}

func benchStart(b *testing.B, empty, program string, policy func() string) {
	var p pairs
	for b.Loop() {
		file := policy()
		p.add(startOnce(b, program, "serve", "--policy", file), startOnce(b, empty))
	}
	p.report(b)
}

func policyFile(b *testing.B) string {
	dir := b.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(startPolicy, "STATE", filepath.Join(dir, "state"), 1)), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

func startOnce(b *testing.B, program string, args ...string) time.Duration {
	began := time.Now()
	c := start(b, nil, program, args...)
	c.initialize()
	took := time.Since(began)
	c.stop()
	return took
}

// BenchmarkInit prints the ten packages whose initialisers take longest before
// main begins, with their share of each start in milliseconds.
func BenchmarkInit(b *testing.B) {
	program := build(b, ".")
	spent, runs := map[string]float64{}, 0.0
	for b.Loop() {
		runs++
		cmd := exec.Command(program, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.SplitSeq(string(out), "\n") {
			// init PACKAGE @0.5 ms, 0.01 ms clock, 1024 bytes, 3 allocs
			if f := strings.Fields(line); len(f) > 5 && f[0] == "init" {
				spent[f[1]] += must[float64](b)(strconv.ParseFloat(f[4], 64))
			}
		}
	}
	var names []string
	all := 0.0
	for name, ms := range spent {
		names, all = append(names, name), all+ms
	}
	slices.SortFunc(names, func(a, c string) int { return cmp.Or(cmp.Compare(spent[c], spent[a]), strings.Compare(a, c)) })
	for _, name := range names[:10] {
		b.Logf("%6.3f ms  %s", spent[name]/runs, name)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(all/runs, "init-ms")
	b.ReportMetric(float64(len(names)), "packages")
}
