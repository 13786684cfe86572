package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// FuzzVerify puts any bytes in the place of a segment: nothing may panic, and
// whatever is taken for a record is one. Then it changes one byte of a valid
// log: that must be found.
func FuzzVerify(f *testing.F) {
	state := memoryState(f)
	lines := sampleIn(f, state)
	valid := bytes.Join([][]byte{[]byte(lines[0]), []byte(lines[1]), []byte(lines[2])}, nil)
	f.Add(valid, uint16(0), byte(1))
	f.Add(valid[:len(valid)-1], uint16(len(valid)-1), byte('\n'^'x'))
	f.Add([]byte("{}\n"), uint16(80), byte(0x20))
	f.Add([]byte(`{"v":1,"seq":0,"prev":"","items":[[[[[[[[`+"\n"), uint16(300), byte(0x80))
	f.Add([]byte(nil), uint16(700), byte(7))
	path := segmentPath(state, 0)
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		put := func(data []byte) Report {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, err := range Read(t.Context(), state, Query{}) {
				_ = err
			}
			_, _ = Tail(state, 10)
			return verify(t, state)
		}
		if report := put(data); report.Records > 0 && report.Log == "" {
			t.Errorf("records without a log: %+v", report)
		}
		changed := bytes.Clone(valid)
		changed[int(at)%len(changed)] ^= flip
		report := put(changed)
		if flip == 0 && report.Bad != nil {
			t.Errorf("an unchanged log: %v", report.Bad)
		}
		if flip != 0 && (report.Status == Intact || report.Bad == nil && len(report.Warnings) == 0) {
			t.Errorf("byte %d changed by %#x is not found: %+v", int(at)%len(changed), flip, report)
		}
	})
}

// FuzzLine writes any strings and reads them back.
func FuzzLine(f *testing.F) {
	f.Add("a", "b", 1)
	f.Add("\x1b]0;x\a", "\"\\\u2028\xff\U0001f98a", -5)
	f.Fuzz(func(t *testing.T, a, b string, n int) {
		c := chain{prev: noHash}
		r := Record{Phase: PhaseCall, Op: a, Err: b, DurMS: int64(n), Args: []Arg{{a, b}, {b, []string{a, b}}, {"n", n}}, Items: []Item{{N: n, ID: a}, {N: 1, ID: b}}}
		data := c.add(nil, r, time.Unix(0, 0))
		for raw := range bytes.Lines(data) {
			if len(raw) > MaxLine || !sealed(raw[:len(raw)-1]) {
				t.Fatalf("line %q", raw)
			}
			got, err := decode(raw[:len(raw)-1])
			if err != nil {
				t.Fatalf("%v: %q", err, raw)
			}
			if want := string([]rune(cut(a, maxString))); len(a)+len(b) < 150 && got.Op != want {
				t.Errorf("op %q, want %q", got.Op, want)
			}
		}
	})
}

// FuzzScan takes any bytes apart as a line. What is taken for a record is JSON
// with the same values in it, has every value once, and the items that the
// verifier follows are those that a reader is shown.
func FuzzScan(f *testing.F) {
	for _, line := range sampleIn(f, memoryState(f)) {
		f.Add([]byte(line[:len(line)-1]))
	}
	f.Add([]byte(`{"v":1,"seq":18446744073709551615,"prev":"` + noHash + `","ts":"2026-11-30T09:00:00.000000Z","log":"","op":"\\","phase":"\u0000","items":[{"n":-0},{"n":1,"id":"}"}],"hash":"` + noHash + `"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var l line
		if err := l.scan(raw); err != nil {
			return
		}
		var plain struct {
			Seq   uint64
			Phase string
			Items []struct{ N *int }
		}
		if !json.Valid(raw) {
			t.Fatalf("it is no JSON: %q", raw)
		}
		r, err := l.record(raw)
		if err != nil {
			return // a number that no field holds
		}
		if err := json.Unmarshal(raw, &plain); err != nil || plain.Seq != r.Seq || plain.Phase != r.Phase || len(plain.Items) != len(r.Items) {
			t.Fatalf("%q is read as %+v, %v", raw, r, err)
		}
		if bytes.Count(l.vals[keyItems], []byte(`"n":`)) != len(r.Items) {
			return // one item with two numbers; the writer makes none
		}
		i := 0
		eachItem(l.vals[keyItems], func(n int) {
			for i < len(r.Items) && r.Items[i].N != n {
				i++
			}
			if i++; i > len(r.Items) {
				t.Errorf("%q: item %d is not among %+v", raw, n, r.Items)
			}
		})
	})
}

// Every byte at every place of strings of every length up to 40 is taken or
// refused as one by one.
func TestStringsByteByByte(t *testing.T) {
	naive := func(raw []byte) int {
		for i := 1; i < len(raw); i++ {
			switch c := raw[i]; {
			case c == '"':
				return i + 1
			case c < 0x20 || c > 0x7e || c == '\\': // no whole escape is tried here
				return -1
			}
		}
		return -1
	}
	for length := range 40 {
		for at := range length {
			for c := range 256 {
				raw := []byte(`"` + strings.Repeat("~", at) + string([]byte{byte(c)}) + strings.Repeat(" ", length-at-1) + `"`)
				if got, want := skipString(raw, 0), naive(raw); got != want {
					t.Fatalf("%q ends at %d, want %d", raw, got, want)
				}
			}
		}
	}
}

// FuzzSegmentName: a name is a segment's, spelled in the one way, or it is none.
func FuzzSegmentName(f *testing.F) {
	for _, s := range []string{segmentName(0), segmentName(1 << 63), "1.jsonl", "+00000000001" + segmentSuffix, "000000000001" + segmentSuffix + "x", "0000000000001" + segmentSuffix, "00000000000\xff" + segmentSuffix, "", tornPrefix} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if first, ok := segmentFirst(name); ok && segmentName(first) != name {
			t.Errorf("%q is read as %d", name, first)
		}
	})
}
