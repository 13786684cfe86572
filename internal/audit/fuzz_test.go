package audit

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// FuzzVerify puts any bytes in the place of a segment: nothing may panic, and
// whatever is taken for a record is one. Then it changes one byte of a valid
// log: that must be found.
func FuzzVerify(f *testing.F) {
	state, lines := sample(f)
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
