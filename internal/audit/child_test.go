package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// childWrites appends until it is killed, with four callers at once, and
// prints each head that it was given.
func childWrites(path string) int {
	state, err := durable.Open(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	log, _ := Open(state, Options{SegmentBytes: 20_000, LockTimeout: time.Minute})
	var out sync.Mutex
	for range 4 {
		go func() {
			for {
				head, err := log.Append(context.Background(), Record{Phase: PhaseCall, Why: strings.Repeat("w", 200)})
				out.Lock()
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("%d %s\n", head.Seq, head.Hash)
				out.Unlock()
			}
		}()
	}
	select {}
}

func childHoldsLock(path string) int {
	state, err := durable.Open(path)
	if err == nil {
		var dir *durable.Folder
		if dir, err = state.Sub(logFolder); err == nil {
			_, err = dir.Lock(context.Background(), lockName, time.Second)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("held")
	_, _ = io.ReadAll(os.Stdin)
	return 0
}

func startChild(t *testing.T, role, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, path)
	cmd.Env = append(os.Environ(), "AUDIT_TEST_CHILD="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// Three processes write one log and are killed at any moment, again and again:
// the chain holds and every record that was acknowledged is there.
func TestKilledWriters(t *testing.T) {
	state := newState(t)
	acknowledged := make(map[uint64]string)
	for range 12 {
		killWriters(t, state.Path(), acknowledged)
	}
	report := verify(t, state)
	if report.Bad != nil || report.Records <= uint64(len(acknowledged)) {
		t.Fatalf("report %+v with %d acknowledged", report, len(acknowledged))
	}
	for _, r := range all(t, state, Query{}) {
		if hash, ok := acknowledged[r.Seq]; ok && hash == r.Hash {
			delete(acknowledged, r.Seq)
		}
	}
	if len(acknowledged) > 0 {
		t.Errorf("%d acknowledged records are gone", len(acknowledged))
	}
}

func killWriters(t *testing.T, path string, acknowledged map[uint64]string) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range 3 {
		cmd, out := startChild(t, "write", path)
		wg.Go(func() {
			for n := 0; out.Scan(); n++ {
				var seq uint64
				var hash string
				if _, err := fmt.Sscanf(out.Text(), "%d %64s", &seq, &hash); err == nil && len(hash) == hashLen {
					mu.Lock()
					acknowledged[seq] = hash
					mu.Unlock()
				}
				if n == 10+7*i {
					cmd.Process.Kill()
				}
			}
			cmd.Wait()
		})
	}
	wg.Wait()
}

func TestLockHeldByStoppedProcess(t *testing.T) {
	state := newState(t)
	cmd, out := startChild(t, "hold", state.Path())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if !out.Scan() || out.Text() != "held" {
		t.Fatal("the child does not hold the lock")
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	log := openLog(t, state, Options{LockTimeout: 20 * time.Millisecond})
	_, err := log.Append(t.Context(), Record{Phase: PhaseCall})
	if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), "fuser") {
		t.Fatalf("error %v, want ErrLocked with advice", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	mustAppend(t, log, Record{Phase: PhaseCall})
	wantIntact(t, state, 2)
}

// A writer is stopped at any moment, also while it has the lock, and goes on
// later. Whoever wants to write meanwhile is told so or writes; nobody writes over
// anybody, and the chain holds.
func TestStoppedWriterGoesOn(t *testing.T) {
	state := newState(t)
	cmd, out := startChild(t, "write", state.Path())
	acknowledged := make(chan int)
	go func() {
		n := 0
		for out.Scan() {
			n++
		}
		acknowledged <- n
	}()
	log := openLog(t, state, Options{SegmentBytes: 20_000, LockTimeout: 5 * time.Millisecond})
	held, written := 0, 0
	for (held < 10 || written < 10) && held+written < 2000 {
		must(t, cmd.Process.Signal(syscall.SIGSTOP))
		_, err := log.Append(t.Context(), Record{Phase: PhaseCall, Why: "between"})
		switch {
		case err == nil:
			written++
		case errors.Is(err, durable.ErrLocked):
			held++
		default:
			t.Fatal(err)
		}
		must(t, cmd.Process.Signal(syscall.SIGCONT))
	}
	cmd.Process.Kill()
	cmd.Wait()
	report := verify(t, state)
	if n := <-acknowledged; report.Bad != nil || report.Records < uint64(n+written) {
		t.Errorf("%d and %d were written: %+v", n, written, report)
	}
	if held < 10 || written < 10 {
		t.Errorf("it was stopped with the lock %d times, without it %d times", held, written)
	}
}
