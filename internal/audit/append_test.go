package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

func TestAppendAndRead(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{Clock: ticking(), Mode: "guardrail"})
	want := Record{
		Op: "op-1", Phase: PhaseCall, Actor: "luis", Client: "agent/1.0", Session: "s1", Proof: "none", Tool: "request_redrive",
		Args:  []Arg{{"queue", "orders"}, {"dry_run", true}, {"max", int64(3)}, {"big", uint64(1 << 63)}, {"ids", []string{"a", "b"}}},
		Queue: "orders", Items: []Item{{N: 1, ID: "m-1", Commit: "c1", State: "intended", Code: "x", NewID: "n-1"}},
		Policy: "p", Rule: "settled", Effect: "direct", Why: "quiet \x1b[31m", Plan: "plan", Run: "r1", Outcome: "sent", Err: "café 🦊 \xff", DurMS: 12,
	}
	head := mustAppend(t, log, want)
	if head.Seq != 1 || head.Log == "" {
		t.Fatalf("head %+v, want seq 1 behind the first record", head)
	}
	recs := all(t, state, Query{})
	if len(recs) != 2 || recs[0].Phase != PhaseStart || recs[0].Hash != head.Log || recs[1].Hash != head.Hash {
		t.Fatalf("records %+v", recs)
	}
	got := recs[1]
	if got.V != 1 || got.Mode != "guardrail" || got.Host != "web-1" || got.PID != 4711 || got.Prev != recs[0].Hash {
		t.Errorf("what the writer sets: %+v", got)
	}
	want.V, want.Seq, want.Prev, want.TS, want.Log = got.V, got.Seq, got.Prev, got.TS, got.Log
	want.Mode, want.Host, want.PID, want.Hash, want.Raw = got.Mode, got.Host, got.PID, got.Hash, got.Raw
	want.Err = "café 🦊 \ufffd"
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("read\n%#v\nwrote\n%#v", got, want)
	}
}

func TestLinesArePrintable(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	var hostile strings.Builder
	for r := range rune(0x300) {
		hostile.WriteRune(r)
	}
	hostile.WriteString("\u202e\u2028\xc3\x28\U0010ffff")
	mustAppend(t, log, Record{Phase: PhaseCall, Err: hostile.String(), Args: []Arg{{hostile.String(), hostile.String()}}})
	data, err := os.ReadFile(segmentPath(state, 0))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range data {
		if c != '\n' && (c < 0x20 || c > 0x7e) {
			t.Fatalf("byte %#x at %d", c, i)
		}
	}
	wantIntact(t, state, 2)
}

func TestAppendRefusesForeignPhases(t *testing.T) {
	log := openLog(t, newState(t), Options{})
	for _, phase := range []string{"", "rotate", "recovery", "nonsense"} {
		if _, err := log.Append(t.Context(), Record{Phase: phase}); err == nil {
			t.Errorf("phase %q was accepted", phase)
		}
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	state := newState(t)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	log := openLog(t, state, Options{Clock: func() time.Time { return now }})
	mustAppend(t, log, Record{Phase: PhaseCall})
	now = now.Add(-time.Hour)
	mustAppend(t, log, Record{Phase: PhaseCall})
	now = now.Add(2 * time.Hour)
	mustAppend(t, log, Record{Phase: PhaseCall})
	recs := all(t, state, Query{})
	if !recs[2].TS.Equal(recs[1].TS) || !recs[3].TS.Equal(now) {
		t.Errorf("times %v %v %v", recs[1].TS, recs[2].TS, recs[3].TS)
	}
	wantIntact(t, state, 4)
}

func TestCallersShareAChain(t *testing.T) {
	state := newState(t)
	logs := []*Log{openLog(t, state, Options{}), openLog(t, state, Options{})}
	var wg sync.WaitGroup
	heads := make(chan Head, 400)
	for i := range 40 {
		wg.Go(func() {
			for range 10 {
				head, err := logs[i%2].Append(context.Background(), Record{Phase: PhaseCall, Op: fmt.Sprint(i)})
				if err != nil {
					t.Error(err)
				}
				heads <- head
			}
		})
	}
	wg.Wait()
	close(heads)
	seen := map[uint64]bool{}
	for head := range heads {
		seen[head.Seq] = true
		if ok, err := logs[0].Contains(head.Seq, head.Hash); !ok || err != nil {
			t.Fatalf("record %d: %v %v", head.Seq, ok, err)
		}
	}
	if len(seen) != 400 {
		t.Errorf("%d heads, want 400", len(seen))
	}
	wantIntact(t, state, 401)
}

func TestItemsAreSpread(t *testing.T) {
	for _, tc := range []struct {
		name  string
		items int
		id    string
	}{
		{"none", 0, ""}, {"one", 1, "m"}, {"hundred", 100, "m"}, {"more", 250, "m"},
		{"long ids", 100, strings.Repeat("x", 1000)}, {"huge ids", 3, strings.Repeat("\x00", 20000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := newState(t)
			log := openLog(t, state, Options{})
			var items []Item
			for n := range tc.items {
				items = append(items, Item{N: n, ID: tc.id, Commit: tc.id})
			}
			mustAppend(t, log, Record{Phase: PhaseOutcome, Op: "o", Plan: "p", Items: items, Why: strings.Repeat("é", 5000)})
			var got []int
			for _, r := range all(t, state, Query{Op: "o"}) {
				if len(r.Items) > MaxItems || len(r.Raw) >= MaxLine || r.Plan != "p" {
					t.Errorf("a record with %d items and %d bytes", len(r.Items), len(r.Raw))
				}
				for _, it := range r.Items {
					got = append(got, it.N)
				}
			}
			if len(got) != tc.items {
				t.Fatalf("%d items, want %d", len(got), tc.items)
			}
			for n := range got {
				if got[n] != n {
					t.Fatalf("item %d at place %d", got[n], n)
				}
			}
		})
	}
}

func TestTheLargestRecordFits(t *testing.T) {
	long := strings.Repeat("\U0001f98a", 20_000)
	list := strings.Split(strings.Repeat(long[:400]+",", 1000), ",")
	r := Record{
		Op: long, Phase: PhaseCall, Actor: long, Client: long, Session: long, Mode: long, Proof: long, Tool: long, Queue: long,
		Policy: long, Rule: long, Effect: long, Why: long, Plan: long, Run: long, Outcome: long, Err: long, Host: long,
		Items: []Item{{ID: long, Commit: long, State: long, Code: long, NewID: long}},
	}
	for i := range 200 {
		r.Args = append(r.Args, Arg{fmt.Sprint(i, long), list})
	}
	state := newState(t)
	mustAppend(t, openLog(t, state, Options{}), r)
	got := all(t, state, Query{Phase: PhaseCall})
	if len(got) != 1 || !strings.Contains(got[0].Why, "…(+") || len(got[0].Args) != maxArgs+1 {
		t.Errorf("%d records", len(got))
	}
	wantIntact(t, state, 2)
}

func TestDoubledArgumentsStayApart(t *testing.T) {
	state := newState(t)
	mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall, Args: []Arg{{"a", 1}, {"a", 2}, {"a", []int{3}}}})
	args := all(t, state, Query{Phase: PhaseCall})[0].Args
	if fmt.Sprint(args) != "[{a 1} {a#2 2} {a#3 [3]}]" {
		t.Errorf("args %v", args)
	}
}

func TestRotation(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{SegmentBytes: 2000})
	for i := range 30 {
		mustAppend(t, log, Record{Phase: PhaseCall, Op: fmt.Sprint(i)})
	}
	report := verify(t, state)
	if report.Status != Intact || report.Segments < 4 || report.Records != 31+uint64(report.Segments)-1 {
		t.Fatalf("report %+v", report)
	}
	recs := all(t, state, Query{})
	for i, r := range recs {
		if r.Phase == PhaseRotate && r.Args[0].Value != segmentName(recs[i+1].Seq) {
			t.Errorf("rotate record %d names %v", r.Seq, r.Args)
		}
	}
	for _, r := range recs {
		if ok, err := log.Contains(r.Seq, r.Hash); !ok || err != nil {
			t.Errorf("record %d: %v %v", r.Seq, ok, err)
		}
	}
}

func TestRotationAfterCrash(t *testing.T) {
	crash := map[string]func(t *testing.T, next string){
		"before the new segment": func(t *testing.T, next string) { os.Remove(next) },
		"before its first line":  func(t *testing.T, next string) { os.Truncate(next, 0) },
		"in its first line":      func(t *testing.T, next string) { os.Truncate(next, 40) },
	}
	for name, cut := range crash {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			log := openLog(t, state, Options{SegmentBytes: 1})
			mustAppend(t, log, Record{Phase: PhaseCall})
			head := mustAppend(t, log, Record{Phase: PhaseCall})
			cut(t, segmentPath(state, head.Seq))
			again := mustAppend(t, openLog(t, state, Options{}), Record{Phase: PhaseCall})
			report := verify(t, state)
			if report.Bad != nil || report.Segments != 2 || report.Head != again {
				t.Errorf("report %+v, head %+v", report, again)
			}
		})
	}
}

func TestAppendAfterCloseAndCancel(t *testing.T) {
	log := openLog(t, newState(t), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ctx, Record{Phase: PhaseCall}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}

func TestCutLogIsNotContinued(t *testing.T) {
	for name, change := range map[string]func(path string, data []byte) error{
		"record removed": func(path string, data []byte) error {
			return os.WriteFile(path, data[:strings.LastIndexByte(string(data[:len(data)-1]), '\n')+1], 0o600)
		},
		"last record edited": func(path string, data []byte) error {
			data[len(data)-200] ^= 1
			return os.WriteFile(path, data, 0o600)
		},
		"segment removed": func(path string, _ []byte) error { return os.Remove(path) },
		"put back, and somebody went on": func(path string, data []byte) error {
			// The first record alone is the older copy.
			if err := os.WriteFile(path, data[:strings.IndexByte(string(data), '\n')+1], 0o600); err != nil {
				return err
			}
			state, err := durable.Open(filepath.Dir(filepath.Dir(path)))
			if err != nil {
				return err
			}
			defer state.Close()
			log, err := Open(state, Options{})
			if err != nil {
				return err
			}
			defer log.Close()
			for range 9 {
				if _, err = log.Append(context.Background(), Record{Phase: PhaseCall}); err != nil {
					break
				}
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			log := openLog(t, state, Options{})
			mustAppend(t, log, Record{Phase: PhaseCall}, Record{Phase: PhaseCall})
			path := segmentPath(state, 0)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := change(path, data); err != nil {
				t.Fatal(err)
			}
			if _, err := log.Append(t.Context(), Record{Phase: PhaseCall}); !errors.Is(err, ErrDamaged) {
				t.Errorf("error %v, want ErrDamaged", err)
			}
		})
	}
}
