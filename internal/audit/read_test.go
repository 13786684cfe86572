package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadFilters(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{Clock: ticking(), SegmentBytes: 1500})
	for n := range 20 {
		mustAppend(t, log, Record{
			Phase: []string{PhaseCall, PhaseIntent}[n%2], Op: fmt.Sprint("op-", n), Queue: fmt.Sprint("q", n%5),
			Actor: fmt.Sprint("a", n%4), Plan: fmt.Sprint("p", n%10), Err: strings.Repeat("é", n%3),
		})
	}
	recs := all(t, state, Query{})
	middle := recs[10]
	count := func(match func(r Record) bool) (n int) {
		for _, r := range recs {
			if match(r) {
				n++
			}
		}
		return n
	}
	for name, tc := range map[string]struct {
		q     Query
		match func(r Record) bool
	}{
		"all":      {Query{}, func(Record) bool { return true }},
		"from":     {Query{From: middle.Seq}, func(r Record) bool { return r.Seq >= middle.Seq }},
		"since":    {Query{Since: middle.TS}, func(r Record) bool { return !r.TS.Before(middle.TS) }},
		"until":    {Query{Until: middle.TS}, func(r Record) bool { return r.TS.Before(middle.TS) }},
		"phase":    {Query{Phase: PhaseIntent}, func(r Record) bool { return r.Phase == PhaseIntent }},
		"queue":    {Query{Queue: "q1"}, func(r Record) bool { return r.Queue == "q1" }},
		"plan":     {Query{Plan: "p3"}, func(r Record) bool { return r.Plan == "p3" }},
		"op":       {Query{Op: "op-7"}, func(r Record) bool { return r.Op == "op-7" }},
		"actor":    {Query{Actor: "a2"}, func(r Record) bool { return r.Actor == "a2" }},
		"contains": {Query{Contains: `\u00e9\u00e9`}, func(r Record) bool { return r.Err == "éé" }},
		"two":      {Query{Queue: "q1", Actor: "a2"}, func(r Record) bool { return r.Queue == "q1" && r.Actor == "a2" }},
		"none":     {Query{Op: "op-99"}, func(Record) bool { return false }},
	} {
		if got, want := len(all(t, state, tc.q)), count(tc.match); got != want {
			t.Errorf("%s: %d records, want %d", name, got, want)
		}
	}
	if count(func(r Record) bool { return r.Op == "op-7" }) != 1 {
		t.Error("op-7 is not there once")
	}
}

func TestReadStopsAndGoesOnPastGarbage(t *testing.T) {
	state, lines := sample(t)
	setLines(t, state, []string{lines[0], "garbage\n", lines[1], strings.Repeat("x", MaxLine) + "\n", lines[2], `{"v":1,"half`})
	good, bad := 0, 0
	for _, err := range Read(t.Context(), state, Query{}) {
		if err == nil {
			good++
		} else if errors.Is(err, errShape) {
			bad++
		}
	}
	if good != 3 || bad != 2 {
		t.Errorf("%d records and %d errors, want 3 and 2", good, bad)
	}
	for range Read(t.Context(), state, Query{}) {
		break
	}
}

func TestTail(t *testing.T) {
	state := newState(t)
	if recs, err := Tail(state, 5); err != nil || len(recs) != 0 {
		t.Errorf("without a log: %v %v", recs, err)
	}
	log := openLog(t, state, Options{SegmentBytes: 1000})
	for n := range 12 {
		mustAppend(t, log, Record{Phase: PhaseCall, Op: fmt.Sprint(n)})
	}
	appendFile(t, segmentPath(state, lastSegment(t, state)), `{"half`)
	want := all(t, state, Query{})
	for _, n := range []int{0, 1, 2, 5, len(want), 1000} {
		got, err := Tail(state, n)
		if err != nil {
			t.Fatal(err)
		}
		rest := want[max(0, len(want)-n):]
		if fmt.Sprint(got) != fmt.Sprint(rest) {
			t.Errorf("Tail(%d) has %d records, want %d", n, len(got), len(rest))
		}
	}
	head, err := log.HeadNow()
	if err != nil || head.Hash != want[len(want)-1].Hash {
		t.Errorf("HeadNow %+v %v", head, err)
	}
}

func lastSegment(t *testing.T, log interface{ Path() string }) (last uint64) {
	t.Helper()
	entries, err := os.ReadDir(log.Path() + "/" + logFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if first, ok := segmentFirst(e.Name()); ok {
			last = max(last, first)
		}
	}
	return last
}

func TestContains(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	if ok, err := log.Contains(0, noHash); ok || err != nil {
		t.Errorf("an empty log: %v %v", ok, err)
	}
	if head, err := log.HeadNow(); err != nil || head != (Head{}) {
		t.Errorf("the head of an empty log: %+v %v", head, err)
	}
	var heads []Head
	for n := range 60 {
		heads = append(heads, mustAppend(t, log, Record{Phase: PhaseCall, Why: strings.Repeat("w", n*n*3)}))
	}
	appendFile(t, segmentPath(state, 0), strings.Repeat("x", 500))
	for _, h := range heads {
		if ok, err := log.Contains(h.Seq, h.Hash); !ok || err != nil {
			t.Errorf("record %d: %v %v", h.Seq, ok, err)
		}
		if ok, _ := log.Contains(h.Seq, noHash); ok {
			t.Errorf("record %d is found with another hash", h.Seq)
		}
		if r, ok, err := log.Find(h.Seq, h.Hash); !ok || err != nil || r.Seq != h.Seq || r.Hash != h.Hash || r.Phase != PhaseCall {
			t.Errorf("record %d: %+v %v %v", h.Seq, r, ok, err)
		}
		if _, ok, _ := log.Find(h.Seq, noHash); ok {
			t.Errorf("record %d is found with another hash", h.Seq)
		}
	}
	if ok, err := log.Contains(61, heads[0].Hash); ok || err != nil {
		t.Errorf("a record behind the end: %v %v", ok, err)
	}
}

func TestObjects(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	data := []byte("plan bytes")
	sum, err := log.PutObject(data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := log.PutObject(data); again != sum || err != nil {
		t.Errorf("the same again: %s %v", again, err)
	}
	if got, err := log.GetObject(sum); string(got) != string(data) || err != nil {
		t.Errorf("GetObject: %q %v", got, err)
	}
	if err := os.WriteFile(state.Path()+"/objects/"+sum, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.GetObject(sum); !errors.Is(err, ErrDamaged) {
		t.Errorf("changed object: %v", err)
	}
	if _, err := log.GetObject("../audit/lock"); !errors.Is(err, errNoDigest) {
		t.Errorf("a path: %v", err)
	}
}

func TestErase(t *testing.T) {
	log := openLog(t, newState(t), Options{})
	commit := strings.Repeat("ab", 32)
	if err := log.PutErasable(commit, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if err := log.PutErasable(commit, []byte("other")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("other bytes for one commit: %v", err)
	}
	if got, err := log.GetErasable(commit); string(got) != "secret" || err != nil {
		t.Errorf("GetErasable: %q %v", got, err)
	}
	for range 2 {
		if err := log.Erase(commit); err != nil {
			t.Error(err)
		}
	}
	if _, err := log.GetErasable(commit); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Erase: %v", err)
	}
	if err := log.Erase("x"); !errors.Is(err, errNoDigest) {
		t.Errorf("Erase of no digest: %v", err)
	}
}

func TestModeAndClockDefaults(t *testing.T) {
	state := newState(t)
	log, err := Open(state, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	mustAppend(t, log, Record{Phase: PhaseCall, Mode: "enforced", Host: "h", PID: 3})
	r := all(t, state, Query{Phase: PhaseCall})[0]
	if r.Mode != "enforced" || r.Host != "h" || r.PID != 3 || time.Since(r.TS) > time.Hour {
		t.Errorf("record %+v", r)
	}
	if first := all(t, state, Query{})[0]; first.PID != os.Getpid() {
		t.Errorf("first record %+v", first)
	}
}

// Any of the newest lines is damaged: Tail shows the others, and says so.
func TestTailPassesOverGarbage(t *testing.T) {
	state, lines := sample(t)
	for i := range lines {
		changed := slices.Clone(lines)
		changed[i] = "garbage\n"
		setLines(t, state, changed)
		recs, err := Tail(state, 3)
		if len(recs) != 3 || errors.Is(err, ErrDamaged) != (i >= len(lines)-3) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("line %d is garbage: %d records, %v", i, len(recs), err)
		}
	}
}
