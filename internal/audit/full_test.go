package audit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/durable/smalldisk"
)

func stateOn(t testing.TB, disk string) *durable.Folder {
	t.Helper()
	state, err := durable.Open(filepath.Join(disk, "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	return state
}

// A disk that fills up under the log, at any page of what is written: whoever is
// told that a record is safe finds it, nobody else's is there, the chain holds,
// and what must be said on a full disk is said in the space that is held back.
func TestDiskFillsUpUnderTheLog(t *testing.T) {
	batch := make([]Record, 12) // some 40 KiB, so that a write is cut short
	for i := range batch {
		batch[i] = Record{Phase: PhaseCall, Op: "batch", Why: strings.Repeat("w", 3000)}
	}
	disk := smalldisk.Mount(t, 1000)
	state := stateOn(t, disk)
	short := 0
	for leave := range 14 {
		log := openLog(t, state, Options{})
		before := mustAppend(t, log, Record{Phase: PhaseIntent, Plan: "p", Items: []Item{{N: leave}}})
		log.write = func(f *os.File, data []byte) (int, error) {
			n, err := f.Write(data)
			if n > 0 && n < len(data) {
				short++
			}
			return n, err
		}
		free := smalldisk.Fill(t, disk, leave)
		head, err := log.Append(t.Context(), batch...)
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with %d pages left: %v", leave, err)
		}
		if full := err != nil; full {
			if report := verify(t, state); report.Bad != nil || report.Head != before {
				t.Errorf("with %d pages left: head %+v, want %+v, bad %v", leave, report.Head, before, report.Bad)
			}
			if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, ErrClosed) {
				t.Errorf("a later call: %v", err)
			}
		} else if report := verify(t, state); report.Bad != nil || report.Head != head {
			t.Errorf("with %d pages left: head %+v, want %+v, bad %v", leave, report.Head, head, report.Bad)
		}
		mustAppend(t, log, Record{Phase: PhaseOutcome, Plan: "p", Items: []Item{{N: leave}}}, Record{Phase: PhaseStop})
		free()
		log.Close()
	}
	if report := verify(t, state); report.Status != Intact {
		t.Errorf("in the end: %+v", report)
	}
	if short < 5 {
		t.Errorf("only %d writes were cut short", short)
	}
}

// The disk is full when the log is begun, in the middle of its first steps.
func TestDiskIsFullWhenTheLogBegins(t *testing.T) {
	for leave := range 6 {
		disk := smalldisk.Mount(t, 1000)
		state := stateOn(t, disk)
		free := smalldisk.Fill(t, disk, leave)
		log := openLog(t, state, Options{})
		if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with %d pages left: %v", leave, err)
		}
		free()
		mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
		wantIntact(t, state, 2)
	}
}

// A segment ends, or a torn end is set aside, while the disk is full.
func TestDiskIsFullAtASegmentsEnd(t *testing.T) {
	for name, tear := range map[string]bool{"rotation": false, "torn end": true} {
		t.Run(name, func(t *testing.T) {
			for leave := range 4 {
				disk := smalldisk.Mount(t, 1000)
				state := stateOn(t, disk)
				opts := Options{SegmentBytes: 1000}
				for range 3 {
					mustAppend(t, openLog(t, state, opts), Record{Phase: PhaseCall, Why: strings.Repeat("w", 3500)})
				}
				if tear {
					appendFile(t, segmentPath(state, lastSegment(t, state)), strings.Repeat("x", 5000))
				}
				free := smalldisk.Fill(t, disk, leave)
				// An outcome may take the space that is held back, a call may not.
				_, err := openLog(t, state, opts).Append(t.Context(), Record{Phase: PhaseCall, Why: strings.Repeat("w", 3500)})
				if err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("with %d pages left: %v", leave, err)
				}
				mustAppend(t, openLog(t, state, opts), Record{Phase: PhaseOutcome, Why: strings.Repeat("w", 3500)})
				free()
				head := mustAppend(t, openLog(t, state, opts), Record{Phase: PhaseCall})
				if report := verify(t, state); report.Bad != nil || report.Head != head {
					t.Errorf("with %d pages left: %+v", leave, report)
				}
			}
		})
	}
}

// Objects and erasable content are there whole or not at all, and a temporary
// file is not left on a full disk.
func TestDiskIsFullForObjects(t *testing.T) {
	disk := smalldisk.Mount(t, 400)
	state := stateOn(t, disk)
	log := openLog(t, state, Options{})
	if _, err := log.PutObject([]byte("small")); err != nil {
		t.Fatal(err)
	}
	if err := log.PutErasable(noHash, nil); err != nil {
		t.Fatal(err)
	}
	for leave := range 12 {
		data := bytes.Repeat([]byte{byte(leave)}, 8*smalldisk.Page)
		commit := strings.Repeat("ab", 31) + segmentName(uint64(leave))[10:12]
		free := smalldisk.Fill(t, disk, leave)
		sum, err := log.PutObject(data)
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with %d pages left: %v", leave, err)
		}
		if got, gerr := log.GetObject(sum); err == nil && !bytes.Equal(got, data) || err != nil && !errors.Is(gerr, fs.ErrNotExist) {
			t.Errorf("with %d pages left: put %v, got %d bytes, %v", leave, err, len(got), gerr)
		}
		err = log.PutErasable(commit, data)
		if got, gerr := log.GetErasable(commit); err == nil && !bytes.Equal(got, data) || err != nil && !errors.Is(gerr, fs.ErrNotExist) {
			t.Errorf("with %d pages left: put %v, got %d bytes, %v", leave, err, len(got), gerr)
		}
		for _, folder := range []string{objectFolder, erasableFolder} {
			if temps, _ := filepath.Glob(filepath.Join(state.Path(), folder, ".tmp-*")); len(temps) > 0 {
				t.Errorf("with %d pages left: %v", leave, temps)
			}
		}
		free()
		if _, err := log.PutObject(data); err != nil {
			t.Error(err)
		}
		if err := log.PutErasable(commit, data); err != nil {
			t.Error(err)
		}
	}
}
