package sqstest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

// BenchmarkServers tells what the servers themselves allow, in messages a second.
func BenchmarkServers(b *testing.B) {
	const n = 2_000
	for _, s := range sqstest.Servers(b) {
		steps := map[string]func(*testing.B, sqstest.Queue, sqstest.Pair){
			"fill": func(b *testing.B, q sqstest.Queue, _ sqstest.Pair) { q.Fill(b, n); b.StopTimer(); q.Drain(b) },
			"drain": func(b *testing.B, q sqstest.Queue, _ sqstest.Pair) {
				b.StopTimer()
				q.Fill(b, n)
				b.StartTimer()
				q.Drain(b)
			},
			"die": func(b *testing.B, _ sqstest.Queue, p sqstest.Pair) {
				p.Die(b, sqstest.Numbered(n)...)
				b.StopTimer()
				p.Dead.Drain(b)
			},
		}
		for _, workers := range []int{1, 4} {
			steps[fmt.Sprint("move-", workers)] = func(b *testing.B, q sqstest.Queue, p sqstest.Pair) {
				b.StopTimer()
				p.Dead.Fill(b, n)
				b.StartTimer()
				if moved := sqstest.Move(b, p.Dead, p.Source, workers); moved != n {
					b.Errorf("%d of %d moved", moved, n)
				}
				b.StopTimer()
				p.Source.Drain(b)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(steps)) {
			b.Run(fmt.Sprintf("%s/%s", s.Name, name), func(b *testing.B) {
				p := s.Pair(b, sqstest.Options{})
				q := s.Create(b, nil)
				for b.Loop() {
					steps[name](b, q, p)
					b.StartTimer()
				}
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}
