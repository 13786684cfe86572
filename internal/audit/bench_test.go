package audit

import (
	"bufio"
	"crypto/sha256"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// BenchmarkAppend64 keeps 64 callers in flight; one iteration is one record.
func BenchmarkAppend64(b *testing.B) {
	log := openLog(b, newState(b), Options{})
	mustAppend(b, log, fullRecord(0))
	flushes := 0
	log.flush = func(f *os.File) error {
		flushes++
		return durable.DataSync(f)
	}
	calls := make(chan bool, 64)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range calls {
				if _, err := log.Append(b.Context(), fullRecord(1)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for b.Loop() {
		calls <- true
	}
	close(calls)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(b.N)/float64(flushes), "records/flush")
}

func BenchmarkAppend1(b *testing.B) {
	log := openLog(b, newState(b), Options{})
	for b.Loop() {
		mustAppend(b, log, fullRecord(1))
	}
}

// BenchmarkEncode is the work per record without the disk.
func BenchmarkEncode(b *testing.B) {
	c, r := chain{prev: noHash}, fullRecord(1)
	var buf []byte
	for b.Loop() {
		buf = c.add(buf[:0], r, time.Time{})
	}
}

// BenchmarkVerify verifies 200,000 records of about 700 bytes a time. Its baseline
// is the least that can be done: SHA-256 of the same bytes, line by line.
func BenchmarkVerify(b *testing.B) {
	const records = 200_000
	state, data := bigLog(b, records)
	// On a machine that does other work besides, the second figure says more.
	rate := func(b *testing.B, began time.Duration) {
		b.ReportMetric(records*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		b.ReportMetric(records*float64(b.N)/(cpuTime(b)-began).Seconds(), "records/cpu-s")
	}
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		began := cpuTime(b)
		for b.Loop() {
			if report := verify(b, state); report.Bad != nil || report.Records != records {
				b.Fatalf("report %+v", report)
			}
		}
		rate(b, began)
	})
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		began := cpuTime(b)
		for b.Loop() {
			in, err := os.Open(segmentPath(state, 0))
			if err != nil {
				b.Fatal(err)
			}
			lines := bufio.NewReaderSize(in, 16*MaxLine)
			n := 0
			for ; ; n++ {
				line, err := lines.ReadSlice('\n')
				if err != nil {
					break
				}
				sum := sha256.Sum256(line[:len(line)-sealLen-1])
				if sum == [32]byte{} {
					b.Fatal("a hash of zeros")
				}
			}
			if in.Close(); n != records {
				b.Fatal(n)
			}
		}
		rate(b, began)
	})
}

// cpuTime is what this process has used of the processor.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bigLog writes one segment without flushing each record.
func bigLog(b *testing.B, records int) (*durable.Folder, []byte) {
	b.Helper()
	state := newState(b)
	if _, err := state.Sub(logFolder); err != nil {
		b.Fatal(err)
	}
	c := chain{prev: noHash}
	data := c.add(nil, firstRecord(), time.Now())
	r := fullRecord(1)
	r.Policy, r.Plan, r.Why = noHash, "", strings.Repeat("w", 60)
	for range records - 1 {
		data = c.add(data, r, time.Now())
	}
	if err := os.WriteFile(segmentPath(state, 0), data, 0o600); err != nil {
		b.Fatal(err)
	}
	return state, data
}
