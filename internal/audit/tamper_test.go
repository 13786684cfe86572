package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// memoryState is a state folder in memory where the system has one, for tests
// that write a file thousands of times.
func memoryState(t testing.TB) *durable.Folder {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "redrive-")
	if err != nil {
		return newState(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return stateOn(t, dir)
}

// smallLog writes records in segments of three lines or so and returns their
// paths and contents.
func smallLog(t *testing.T, records int) (state *durable.Folder, paths []string, segments [][]byte) {
	t.Helper()
	state = memoryState(t)
	log := openLog(t, state, Options{Clock: ticking(), SegmentBytes: 1000})
	sum, err := log.PutObject([]byte("the plan"))
	must(t, err)
	for n := range records {
		r := fullRecord(n)
		r.Plan = sum
		mustAppend(t, log, r)
	}
	paths, err = filepath.Glob(filepath.Join(state.Path(), logFolder, "0*.jsonl"))
	must(t, err)
	if len(paths) < 3 {
		t.Fatalf("segments %v", paths)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		segments = append(segments, data)
	}
	wantIntact(t, state, uint64(1+records+len(paths)-1))
	return state, paths, segments
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func setFile(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

// A bit of every byte of a log of several segments is turned over. Each is found;
// only the newline at the very end looks like a write cut short.
func TestEveryByte(t *testing.T) {
	state, paths, segments := smallLog(t, 6)
	for i, path := range paths {
		data := slices.Clone(segments[i])
		for at := range data {
			bit := byte(1) << (at % 8)
			data[at] ^= bit
			setFile(t, path, data)
			data[at] ^= bit
			want := Tampered
			if i == len(paths)-1 && at == len(data)-1 {
				want = Warning
			}
			if report := verify(t, state); report.Status != want {
				t.Fatalf("byte %d of %s: %v, bad %v", at, filepath.Base(path), report.Status, report.Bad)
			}
		}
		setFile(t, path, data)
	}
	wantIntact(t, state, uint64(7+len(paths)-1))
}

// Every order of two lines, every line left out, and every line put in a second
// time at every place.
func TestEveryMoveOfALine(t *testing.T) {
	state, lines := sample(t)
	tampered := func(what string, changed []string) {
		t.Helper()
		setLines(t, state, changed)
		if report := verify(t, state); report.Status != Tampered {
			t.Errorf("%s: %v, bad %v", what, report.Status, report.Bad)
		}
	}
	for i := range lines {
		if i < len(lines)-1 { // an end that is cut off shows only against a head kept outside
			tampered(fmt.Sprintf("without line %d", i), slices.Concat(lines[:i], lines[i+1:]))
		}
		for j := range i {
			swapped := slices.Clone(lines)
			swapped[i], swapped[j] = swapped[j], swapped[i]
			tampered(fmt.Sprintf("lines %d and %d swapped", i, j), swapped)
		}
		for j := range len(lines) + 1 {
			tampered(fmt.Sprintf("line %d again before %d", i, j), slices.Concat(lines[:j], lines[i:i+1], lines[j:]))
		}
	}
	setLines(t, state, lines)
	wantSample(t, state)
}

// Every segment is removed, emptied, cut at every third byte, renamed, and swapped with
// every other one.
func TestEverySegment(t *testing.T) {
	state, paths, segments := smallLog(t, 6)
	last := len(paths) - 1
	want := func(what string, statuses ...Status) {
		t.Helper()
		report := verify(t, state)
		if !slices.Contains(statuses, report.Status) {
			t.Errorf("%s: %v, bad %v, warnings %v", what, report.Status, report.Bad, report.Warnings)
		}
	}
	for i, path := range paths {
		name := filepath.Base(path)
		bad := []Status{Tampered}
		if i == last { // what a crash leaves too; the rotate record before says that it is looked for
			bad = []Status{Warning}
		}
		must(t, os.Remove(path))
		want(name+" removed", bad...)
		for size := 0; size < len(segments[i]); size += 3 {
			setFile(t, path, segments[i][:size])
			atLine := size > 0 && segments[i][size-1] == '\n'
			switch {
			case i < last:
				want(fmt.Sprintf("%s cut to %d bytes", name, size), Tampered)
			case atLine:
				want(fmt.Sprintf("%s cut to %d bytes", name, size), Intact)
			default:
				want(fmt.Sprintf("%s cut to %d bytes", name, size), Warning)
			}
		}
		setFile(t, path, segments[i])
		for _, other := range []string{"000000000001.jsonl", "999999999999.jsonl", name + ".old", "1" + name} {
			to := filepath.Join(filepath.Dir(path), other)
			must(t, os.Rename(path, to))
			want(name+" called "+other, Tampered, bad[0])
			must(t, os.Rename(to, path))
		}
		for j := range i {
			setFile(t, path, segments[j])
			setFile(t, paths[j], segments[i])
			want(fmt.Sprintf("segments %d and %d swapped", i, j), Tampered)
			setFile(t, path, segments[i])
			setFile(t, paths[j], segments[j])
		}
	}
	wantIntact(t, state, uint64(7+last))
}

// An object that is cut at any byte, or has any bit turned over.
func TestEveryByteOfAnObject(t *testing.T) {
	state, _, _ := smallLog(t, 6)
	names, err := filepath.Glob(filepath.Join(state.Path(), objectFolder, "*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	good, err := os.ReadFile(names[0])
	must(t, err)
	for at := range good {
		changed := slices.Clone(good)
		changed[at] ^= 1
		for _, data := range [][]byte{good[:at], changed, append(slices.Clone(good), 0)} {
			setFile(t, names[0], data)
			if report := verify(t, state); report.Status != Tampered || len(report.Objects) != 1 {
				t.Errorf("%q: %v, %v", data, report.Status, report.Objects)
			}
		}
	}
	setFile(t, names[0], good)
	wantIntact(t, state, 10)
}

// The last write is cut short at every byte, as by a crash. The next writer sets
// the torn bytes aside and goes on; nothing that was whole is lost.
func TestTornAtEveryByte(t *testing.T) {
	state := memoryState(t)
	lines := sampleIn(t, state)
	path := segmentPath(state, 0)
	whole := strings.Join(lines[:5], "")
	for size := 1; size < len(lines[5]); size++ {
		torn := lines[5][:size]
		setFile(t, path, []byte(whole+torn))
		if report := verify(t, state); report.Status != Warning || report.Records != 5 {
			t.Errorf("cut at byte %d: %v with %d records", size, report.Status, report.Records)
		}
		log := openLog(t, state, Options{})
		head, err := log.HeadNow()
		if err != nil || head.Seq != 4 {
			t.Errorf("cut at byte %d: head %+v, %v", size, head, err)
		}
		mustAppend(t, log, Record{Phase: PhaseCall})
		log.Close()
		report := verify(t, state)
		if report.Bad != nil || report.Records != 7 || report.Phases[PhaseRecovery] != 1 {
			t.Errorf("cut at byte %d and mended: %+v", size, report)
		}
		aside, err := filepath.Glob(filepath.Join(state.Path(), logFolder, tornPrefix+"*"))
		must(t, err)
		if data, err := os.ReadFile(aside[0]); len(aside) != 1 || string(data) != torn || err != nil {
			t.Errorf("cut at byte %d: %d files set aside, %v", size, len(aside), err)
		}
		must(t, os.Remove(aside[0]))
	}
}
