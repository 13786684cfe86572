package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

var errDisk = errors.New("the disk is gone")

// partly writes half of the bytes and then fails, as a full disk does.
func partly(err error) func(*os.File, []byte) (int, error) {
	return func(f *os.File, data []byte) (int, error) {
		n, _ := f.Write(data[:len(data)/2])
		return n, err
	}
}

func TestFailedWriteIsCutOff(t *testing.T) {
	for name, fault := range map[string]error{
		"full disk": syscall.ENOSPC, "quota": syscall.EDQUOT, "file size limit": syscall.EFBIG, "input/output error": syscall.EIO, "short write": nil,
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			log := openLog(t, state, Options{})
			before := mustAppend(t, log, Record{Phase: PhaseCall, Op: "before"})
			log.write = partly(fault)
			_, err := log.Append(t.Context(), Record{Phase: PhaseCall, Op: "lost"})
			if want := fault; err == nil || want != nil && !errors.Is(err, want) || want == nil && !errors.Is(err, io.ErrShortWrite) {
				t.Fatalf("error %v", err)
			}
			report := wantIntact(t, state, 2)
			if report.Head != before {
				t.Errorf("head %+v, want %+v", report.Head, before)
			}
			log.write = (*os.File).Write
			if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, ErrClosed) {
				t.Errorf("a later call: %v, want ErrClosed", err)
			}
			mustAppend(t, log, Record{Phase: PhaseOutcome, Op: "known"})
			mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
			wantIntact(t, state, 4)
		})
	}
}

// A disk that is full for all but what the reserve holds: outcomes go through,
// calls do not, and the reserve is there again once there is room.
func TestSpaceIsKeptForOutcomes(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	mustAppend(t, log, Record{Phase: PhaseIntent, Plan: "p", Items: []Item{{N: 1}}})
	reserve := filepath.Join(state.Path(), logFolder, reserveName)
	if info, err := os.Stat(reserve); err != nil || info.Size() != reserveBytes {
		t.Fatalf("reserve: %v", err)
	}
	log.write = func(f *os.File, data []byte) (int, error) {
		if _, err := os.Stat(reserve); err == nil {
			return partly(syscall.ENOSPC)(f, data)
		}
		return f.Write(data)
	}
	if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a call: %v, want ENOSPC", err)
	}
	if _, err := os.Stat(reserve); err != nil {
		t.Fatal("a call used the space kept for outcomes")
	}
	mustAppend(t, log, Record{Phase: PhaseOutcome, Plan: "p", Items: []Item{{N: 1}}})
	mustAppend(t, log, Record{Phase: PhaseStop})
	mustAppend(t, log, Record{Phase: PhaseCancel})
	mustAppend(t, log, Record{Phase: PhaseResolve, Plan: "p"})
	mustAppend(t, log, Record{Phase: PhaseCall, Kept: true})
	if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, ErrClosed) {
		t.Errorf("a call after a failed write: %v, want ErrClosed", err)
	}
	if _, err := os.Stat(reserve); err == nil {
		t.Error("the reserve was not used")
	}
	mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
	if _, err := os.Stat(reserve); err != nil {
		t.Error("the reserve was not made again")
	}
	report := verify(t, state)
	if report.Bad != nil || report.Records != 8 || len(report.Dangling) != 0 {
		t.Errorf("report %+v", report)
	}
}

// One batch holds a call and an outcome when the disk fills up.
func TestFullDiskSplitsABatch(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	mustAppend(t, log, Record{Phase: PhaseCall})
	tries := 0
	log.write = func(f *os.File, data []byte) (int, error) {
		if tries++; tries == 1 {
			return partly(syscall.ENOSPC)(f, data)
		}
		return f.Write(data)
	}
	call := &request{recs: []Record{{Phase: PhaseCall}}, done: make(chan error, 1)}
	outcome := &request{recs: []Record{{Phase: PhaseOutcome}}, done: make(chan error, 1)}
	log.commit([]*request{call, outcome})
	if err := <-call.done; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the call: %v", err)
	}
	if err := <-outcome.done; err != nil || outcome.head.Seq != 2 {
		t.Errorf("the outcome: %v, head %+v", err, outcome.head)
	}
	wantIntact(t, state, 3)
}

func TestFailedFlushEndsTheLog(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	mustAppend(t, log, Record{Phase: PhaseCall})
	log.flush = func(*os.File) error { return errDisk }
	if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, errDisk) {
		t.Fatalf("error %v", err)
	}
	log.flush = func(*os.File) error { return nil }
	for _, phase := range []string{PhaseCall, PhaseOutcome, PhaseStop} {
		if _, err := log.Append(t.Context(), Record{Phase: phase}); !errors.Is(err, ErrClosed) || !errors.Is(err, errDisk) {
			t.Errorf("%s: %v, want ErrClosed with the cause", phase, err)
		}
	}
}

func TestTornTailIsSetAside(t *testing.T) {
	for _, torn := range []string{"x", `{"v":1,"seq":2,"prev":"`, strings.Repeat("\x00", 40_000), "\x1b[2J"} {
		t.Run(fmt.Sprint(len(torn)), func(t *testing.T) {
			state := newState(t)
			mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
			appendFile(t, segmentPath(state, 0), torn)
			if report := verify(t, state); report.Status != Warning || len(report.Warnings) != 1 || report.Records != 2 {
				t.Errorf("before it is mended: %+v", report)
			}
			head := mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
			report := verify(t, state)
			if report.Status != Warning || len(report.Warnings) != 1 || report.Head != head || report.Phases[PhaseRecovery] != 1 {
				t.Fatalf("report %+v", report)
			}
			rec := all(t, state, Query{Phase: PhaseRecovery})[0]
			data, err := os.ReadFile(filepath.Join(state.Path(), logFolder, rec.Args[3].Value.(string)))
			if err != nil || string(data) != torn || rec.Args[1].Value != int64(len(torn)) {
				t.Errorf("set aside %q (%v), args %v", data, err, rec.Args)
			}
		})
	}
}

// The writer died between setting a torn end aside and recording it.
func TestUnrecordedTornEndIsReported(t *testing.T) {
	state := newState(t)
	mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
	appendFile(t, filepath.Join(state.Path(), logFolder, "torn-x"), "bytes")
	report := verify(t, state)
	if report.Status != Warning || !strings.Contains(fmt.Sprint(report.Warnings), "torn-x") {
		t.Errorf("report %+v", report)
	}
}

func TestTornFirstRecord(t *testing.T) {
	state := newState(t)
	if _, err := state.Sub(logFolder); err != nil {
		t.Fatal(err)
	}
	appendFile(t, segmentPath(state, 0), `{"v":1,`)
	mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
	recs := all(t, state, Query{})
	if len(recs) != 3 || recs[0].Phase != PhaseStart || recs[1].Phase != PhaseRecovery {
		t.Errorf("records %+v", recs)
	}
}

func appendFile(t *testing.T, path, data string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(data)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// While one batch is flushed, the callers that come meanwhile become the next
// one: 51 calls, two flushes.
func TestCallersShareAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := newState(t)
		log := openLog(t, state, Options{})
		mustAppend(t, log, Record{Phase: PhaseCall})
		flushes, release := 0, make(chan bool)
		log.flush = func(*os.File) error {
			flushes++
			<-release
			return nil
		}
		var wg sync.WaitGroup
		call := func() { mustAppend(t, log, Record{Phase: PhaseCall}) }
		wg.Go(call)
		synctest.Wait()
		for range 50 {
			wg.Go(call)
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if flushes != 2 {
			t.Errorf("%d flushes, want 2", flushes)
		}
		wantIntact(t, state, 53)
		log.Close()
	})
}
