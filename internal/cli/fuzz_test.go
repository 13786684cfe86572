package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

var hostile = []string{"", "4711", "a\nb\tc", "\x1b[2J\x1b]0;x\x07", "\u202egnp.exe", "\u200b\ufeff", "\U000e0041", "\xff\xfe", "é漢字", `"\u0041<&>`, "\u2028"}

// FuzzJSON: whatever an id is, JSON holds it exactly and shows nothing that a
// terminal would obey.
func FuzzJSON(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, out, _ := screen(0)
		if err := u.printJSON([]string{s}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); backends.Sanitise(got) != got {
			t.Errorf("%q is printed as %q", s, got)
		}
		var back []string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(s) && back[0] != s {
			t.Errorf("%q is read back as %q", s, back[0])
		}
	})
}

// FuzzTable: whatever a cell holds, a row is one line of printable text, no wider
// than the terminal.
func FuzzTable(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, uint8(20))
	}
	f.Fuzz(func(t *testing.T, s string, width uint8) {
		u, out, _ := screen(int(width))
		rows := table{titles: []string{"ID", "ERROR"}}
		rows.add(cells("1", s)...)
		u.table(rows)
		got := out.String()
		if backends.Sanitise(got) != got || strings.Contains(got, "\t") || strings.Count(got, "\n") != 2 {
			t.Errorf("%q is printed as %q", s, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 12 && n > int(width) {
				t.Errorf("a line of %d characters on a terminal of %d: %q", n, width, line)
			}
		}
	})
}

// FuzzParse: no words make the parser fail otherwise than with an error, and none
// gets lost.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a --id 1 b", "-- -x", "--id", "--id= --id=--", "-h", "--nope", "- a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		c := command{name: "x", args: "A [B]", setup: setupLetters}
		flags, _ := c.flagSet(&app{})
		args, err := parse(flags, words)
		if err == nil && len(args) > len(words) {
			t.Errorf("%q gives the arguments %q", words, args)
		}
		if err == nil {
			_ = c.arity(args)
		}
	})
}
