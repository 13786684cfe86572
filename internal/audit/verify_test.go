package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// fullRecord has every field that a caller sets.
func fullRecord(n int) Record {
	return Record{
		Op: fmt.Sprint("op-", n), Phase: PhaseCall, Actor: "luis", Client: "agent/1.0", Session: "s1", Mode: "guardrail",
		Proof: "none", Tool: "request_redrive", Args: []Arg{{"limit", 10}}, Queue: "orders",
		Items: []Item{{N: n, ID: "m-1", Commit: "c", State: "sent", Code: "x", NewID: "n-1"}}, Policy: "p", Rule: "settled",
		Effect: "direct", Why: "w", Plan: "p-1", Run: "r-1", Outcome: "sent", Err: "e", DurMS: 7,
	}
}

// sample writes five full records behind the first one and returns the lines.
func sample(t testing.TB) (*durable.Folder, []string) {
	t.Helper()
	state := newState(t)
	return state, sampleIn(t, state)
}

func sampleIn(t testing.TB, state *durable.Folder) []string {
	t.Helper()
	log := openLog(t, state, Options{Clock: ticking()})
	for n := range 5 {
		mustAppend(t, log, fullRecord(n))
	}
	data, err := os.ReadFile(segmentPath(state, 0))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	return lines[:len(lines)-1]
}

func setLines(t testing.TB, state *durable.Folder, lines []string) {
	t.Helper()
	if err := os.WriteFile(segmentPath(state, 0), []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reseal gives a changed line the hash of its bytes, as a forger would.
func reseal(text string) string {
	text = strings.TrimSuffix(text, "\n")
	body := text[:len(text)-sealLen]
	sum := sha256.Sum256([]byte(body))
	return body + `,"hash":"` + hex.EncodeToString(sum[:]) + "\"}\n"
}

func TestVerifyFindsEditOfEachField(t *testing.T) {
	state, lines := sample(t)
	for _, key := range keys {
		for _, forged := range []bool{false, true} {
			at := strings.Index(lines[2], `"`+key+`":`)
			if at < 0 {
				t.Fatalf("the sample has no %s", key)
			}
			changed := []byte(lines[2])
			at += len(key) + 3
			for changed[at] < '0' || changed[at] == '[' || changed[at] == '{' || changed[at] == '"' {
				at++
			}
			changed[at] ^= 1
			text := string(changed)
			if forged && key != "hash" {
				text = reseal(text)
			}
			setLines(t, state, slices.Concat(lines[:2], []string{text}, lines[3:]))
			report := verify(t, state)
			if report.Status != Tampered && key != "v" || report.Bad == nil || report.Bad.Line < 3 || report.Bad.Line > 4 {
				t.Errorf("%s, forged %v: status %v, bad %v", key, forged, report.Status, report.Bad)
			}
			if !forged && (report.Bad == nil || report.Bad.Kind != Edited || report.Bad.Line != 3 || report.Records != 2) {
				t.Errorf("%s: bad %v", key, report.Bad)
			}
		}
	}
}

func TestVerifyFindsTampering(t *testing.T) {
	state, lines := sample(t)
	_, foreign := sample(t)
	for _, tc := range []struct {
		name  string
		lines []string
		kind  Kind
		line  int
	}{
		{"deleted", slices.Concat(lines[:2], lines[3:]), Missing, 3},
		{"first deleted", lines[1:], Missing, 1},
		{"swapped", slices.Concat(lines[:2], []string{lines[3], lines[2]}, lines[4:]), Reordered, 3},
		{"moved to the end", slices.Concat(lines[:2], lines[3:], lines[2:3]), Reordered, 3},
		{"duplicated", slices.Concat(lines[:3], []string{lines[2]}, lines[3:]), Duplicated, 4},
		{"first duplicated", slices.Concat(lines[:3], []string{lines[0]}, lines[3:]), Duplicated, 4},
		{"foreign", slices.Concat(lines[:3], []string{foreign[3]}, lines[4:]), WrongLog, 4},
		{"foreign first", slices.Concat(lines[:3], []string{foreign[0]}, lines[3:]), WrongLog, 4},
		{"foreign from the second on", slices.Concat(lines[:1], foreign[1:]), WrongLog, 2},
		{"blank line", slices.Concat(lines[:3], []string{"\n"}, lines[3:]), Edited, 4},
		{"garbage", slices.Concat(lines[:3], []string{"garbage\n"}, lines[3:]), Edited, 4},
		{"long line", slices.Concat(lines[:3], []string{strings.Repeat("x", 20<<10) + "\n"}, lines[3:]), Edited, 4},
		{"very long line", slices.Concat(lines[:3], []string{strings.Repeat("x", 20*MaxLine) + "\n"}, lines[3:]), Edited, 4},
		{"joined", []string{lines[0], strings.TrimSuffix(lines[1], "\n"), lines[2]}, Edited, 2},
		{"space", slices.Concat(lines[:3], []string{reseal(strings.Replace(lines[3], `,"op"`, `, "op"`, 1))}), Edited, 4},
		{"keys out of order", slices.Concat(lines[:3], []string{reseal(strings.Replace(lines[3], `"rule":"settled","effect":"direct"`, `"effect":"direct","rule":"settled"`, 1))}), Edited, 4},
		{"key twice", slices.Concat(lines[:3], []string{reseal(strings.Replace(lines[3], `"rule":`, `"rule":"r","rule":`, 1))}), Edited, 4},
		{"raw control byte", slices.Concat(lines[:3], []string{reseal(strings.Replace(lines[3], `"settled"`, "\"\x1b[2J\"", 1))}), Edited, 4},
		{"newer version", slices.Concat(lines[:3], []string{reseal(strings.Replace(lines[3], `"v":1`, `"v":2`, 1))}), UnreadableRecord, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			setLines(t, state, tc.lines)
			report := verify(t, state)
			want := Tampered
			if tc.kind == UnreadableRecord {
				want = Unreadable
			}
			if report.Status != want || report.Bad == nil || report.Bad.Kind != tc.kind || report.Bad.Line != tc.line {
				t.Fatalf("status %v, bad %v; want %s at line %d", report.Status, report.Bad, tc.kind, tc.line)
			}
			if report.Records != uint64(tc.line-1) {
				t.Errorf("%d good records", report.Records)
			}
		})
	}
}

func TestVerifyCutTail(t *testing.T) {
	state, lines := sample(t)
	head := wantSample(t, state)
	setLines(t, state, lines[:4])
	if report := verify(t, state); report.Bad != nil || !strings.HasPrefix(report.Anchor, "unanchored: nothing held outside") {
		t.Errorf("a cut tail without an anchor: %+v", report)
	}
	report := verify(t, state, head)
	if report.Status != Tampered || report.Bad.Kind != Missing {
		t.Errorf("a cut tail with a known head: status %v, bad %v", report.Status, report.Bad)
	}
	log := openLog(t, state, Options{})
	if ok, err := log.Contains(head.Seq, head.Hash); ok || err != nil {
		t.Errorf("Contains: %v %v", ok, err)
	}
	torn := strings.TrimSuffix(lines[4], "\n")
	if err := os.WriteFile(segmentPath(state, 0), []byte(strings.Join(lines[:4], "")+torn[:50]), 0o600); err != nil {
		t.Fatal(err)
	}
	if report := verify(t, state); report.Bad != nil || len(report.Warnings) == 0 || report.Records != 4 {
		t.Errorf("a torn tail: %+v", report)
	}
}

func wantSample(t *testing.T, state *durable.Folder) Head {
	t.Helper()
	report := verify(t, state)
	if report.Bad != nil || report.Records != 6 {
		t.Fatalf("report %+v", report)
	}
	return report.Head
}

func TestVerifyExpectsHeads(t *testing.T) {
	state, _ := sample(t)
	head := wantSample(t, state)
	if report := verify(t, state, head); report.Bad != nil || !strings.Contains(report.Anchor, "beyond record 5") {
		t.Errorf("report %+v", report)
	}
	head.Hash = noHash
	if report := verify(t, state, head); report.Bad == nil || report.Bad.Kind != Edited {
		t.Errorf("report %+v", report)
	}
}

func TestVerifySegments(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, paths []string)
		kind   Kind
	}{
		{"segment removed", func(t *testing.T, p []string) { os.Remove(p[1]) }, Missing},
		{"first segment removed", func(t *testing.T, p []string) { os.Remove(p[0]) }, Missing},
		{"end of a segment cut", func(t *testing.T, p []string) {
			data, _ := os.ReadFile(p[1])
			data = data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1]
			os.WriteFile(p[1], data, 0o600)
		}, TruncatedSegment},
		{"torn inside", func(t *testing.T, p []string) { appendFile(t, p[1], "half") }, Torn},
		{"two in one", func(t *testing.T, p []string) {
			data, _ := os.ReadFile(p[1])
			appendFile(t, p[0], string(data))
			os.Remove(p[1])
		}, Edited},
		{"copied", func(t *testing.T, p []string) {
			data, _ := os.ReadFile(p[1])
			first, _ := segmentFirst(filepath.Base(p[1]))
			os.WriteFile(filepath.Join(filepath.Dir(p[1]), segmentName(first+1)), data, 0o600)
		}, Duplicated},
		{"readable by others", func(t *testing.T, p []string) { os.Chmod(p[1], 0o644) }, UnreadableRecord},
		{"symbolic link", func(t *testing.T, p []string) {
			os.Rename(p[1], p[1]+".real")
			os.Symlink(p[1]+".real", p[1])
		}, UnreadableRecord},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := newState(t)
			log := openLog(t, state, Options{SegmentBytes: 1000})
			for n := range 9 {
				mustAppend(t, log, Record{Phase: PhaseCall, Op: fmt.Sprint(n), Why: strings.Repeat("w", 300)})
			}
			paths, err := filepath.Glob(filepath.Join(state.Path(), logFolder, "0*.jsonl"))
			if err != nil || len(paths) < 3 {
				t.Fatalf("segments %v", paths)
			}
			tc.change(t, paths)
			if report := verify(t, state); report.Bad == nil || report.Bad.Kind != tc.kind {
				t.Errorf("bad %v, want %s", report.Bad, tc.kind)
			}
		})
	}
}

func TestVerifyDanglingIntents(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	items := func(ns ...int) (list []Item) {
		for _, n := range ns {
			list = append(list, Item{N: n, ID: `"}],"x`})
		}
		return list
	}
	mustAppend(t, log,
		Record{Phase: PhaseIntent, Plan: "a", Run: "r1", Items: items(1, 2, 3)},
		Record{Phase: PhaseOutcome, Plan: "a", Run: "r1", Items: items(1)},
		Record{Phase: PhaseIntent, Plan: "b", Run: "r2", Items: items(1, 2)},
		Record{Phase: PhaseOutcome, Plan: "a", Run: "r3", Items: items(3)},
		Record{Phase: PhaseResolve, Plan: "b", Items: items(1, 2)},
		Record{Phase: PhaseOutcome, Plan: "c", Items: items(1)},
	)
	report := verify(t, state)
	if report.Status != Warning || fmt.Sprint(report.Dangling) != "[{a r1 1 [2]}]" {
		t.Errorf("status %v, dangling %v", report.Status, report.Dangling)
	}
}

func TestVerifyObjects(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	sum, err := log.PutObject([]byte("the plan"))
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, Record{Phase: PhasePlan, Plan: sum}, Record{Phase: PhaseRun, Plan: sum})
	wantIntact(t, state, 3)
	path := filepath.Join(state.Path(), objectFolder, sum)
	if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if report := verify(t, state); report.Status != Tampered || len(report.Objects) != 1 || report.Objects[0].Seq != 1 {
		t.Errorf("other bytes: %+v", report)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if report := verify(t, state); report.Status != Warning || len(report.Objects) != 1 || !report.Objects[0].Missing {
		t.Errorf("missing: %+v", report)
	}
}

// TestVerifyEachObject: whatever a record names, or a list that a record names,
// is looked at.
func TestVerifyEachObject(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	object := func(text string) string {
		t.Helper()
		sum, err := log.PutObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	file, second := object("version: 1\n"), object("queues: {}\n")
	list := object("policy.yaml " + file + "\nqueues of the night.yaml " + second + "\n")
	yes, no := object("decision: approve\n"), object("decision: deny\n")
	approval := func(statement string) Record {
		return Record{Phase: PhaseApproval, Args: []Arg{{"os_user", `"statement":"x`}, {"statement", statement}, {"reason", "because"}}}
	}
	mustAppend(t, log, Record{Phase: PhasePolicy, Policy: list}, approval(yes), approval(no), Record{Phase: PhasePolicy, Policy: list})
	wantIntact(t, state, 5)
	for sum, seq := range map[string]uint64{file: 1, second: 1, list: 1, yes: 2, no: 3} {
		path := filepath.Join(state.Path(), objectFolder, sum)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, missing := range []bool{false, true} {
			want := Tampered
			if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
			if missing {
				want = Warning
				os.Remove(path)
			}
			r := verify(t, state)
			if r.Status != want || len(r.Objects) != 1 || r.Objects[0].Sum != sum || r.Objects[0].Seq != seq || r.Objects[0].Missing != missing {
				t.Errorf("%q, missing %v: status %v, objects %+v", good, missing, r.Status, r.Objects)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantIntact(t, state, 5)
}

func TestVerifyNothing(t *testing.T) {
	report := verify(t, newState(t))
	if report.Status != Warning || report.Records != 0 || report.Log != "" {
		t.Errorf("report %+v", report)
	}
}

func TestVerifyProgressAndCancel(t *testing.T) {
	state, _ := sample(t)
	var done, total int64
	report, err := Verify(t.Context(), state, VerifyOptions{Progress: func(d, n int64) { done, total = d, n }})
	if err != nil || done != total || done != report.Bytes || done == 0 {
		t.Errorf("progress %d of %d, %d bytes: %v", done, total, report.Bytes, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, state, VerifyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A writer begins new segments while the log is verified: they are part of it.
func TestVerifyWhileSegmentsAreBegun(t *testing.T) {
	state := memoryState(t)
	log := openLog(t, state, Options{SegmentBytes: 3 << 20})
	long := Record{Phase: PhaseCall, Why: strings.Repeat("w", 4000), Err: strings.Repeat("e", 4000), Rule: strings.Repeat("r", 4000)}
	many := slices.Repeat([]Record{long}, 200)
	mustAppend(t, log, many...)
	var head Head
	begun := 0
	report, err := Verify(t.Context(), state, VerifyOptions{Progress: func(int64, int64) {
		if begun++; begun <= 2 {
			mustAppend(t, log, many...)
			head = mustAppend(t, log, Record{Phase: PhaseCall})
		}
	}})
	if err != nil || report.Status != Intact || report.Segments < 2 || report.Head != head {
		t.Errorf("%v, %d segments, bad %v, warnings %v: %v", report.Status, report.Segments, report.Bad, report.Warnings, err)
	}
}
