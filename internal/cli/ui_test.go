package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// screen is an ui whose output can be read. width 0 is a pipe.
func screen(width int) (*ui, *bytes.Buffer, *bytes.Buffer) {
	var out, err bytes.Buffer
	u := &ui{in: bufio.NewReader(strings.NewReader("")), out: &out, err: &err, width: width, now: func() time.Time { return noon }}
	return u, &out, &err
}

func TestTable(t *testing.T) {
	rows := table{titles: []string{"QUEUE", ">LETTERS", "EMPTY", "LAST"}}
	rows.add(cells("orders", "1,204", "", "r-7k2m9q done, 20 min ago")...)
	rows.add(cells("mail\x1b[2J\n", "3", "", "")...)

	u, out, _ := screen(0)
	u.table(rows)
	want := "QUEUE          LETTERS  LAST\n" +
		"orders           1,204  r-7k2m9q done, 20 min ago\n" +
		"mail\\x1b[2J\\n        3\n"
	if out.String() != want {
		t.Errorf("in a pipe:\n%swant\n%s", out, want)
	}

	u, out, _ = screen(34)
	u.table(rows)
	if !strings.Contains(out.String(), "orders           1,204  r-7k2m9q…\n") {
		t.Errorf("on a terminal of 34 columns:\n%s", out)
	}
}

func TestColour(t *testing.T) {
	for _, tt := range []struct {
		term, colour bool
		want         string
	}{{true, true, "\x1b[1;31mX\x1b[0m"}, {true, false, "X"}, {false, true, "X"}} {
		u, _, _ := screen(80)
		u.outTerm, u.colour = tt.term, tt.colour
		if got := u.onOut(red, "X"); got != tt.want {
			t.Errorf("terminal %v, colour %v: %q, want %q", tt.term, tt.colour, got, tt.want)
		}
	}
}

func TestWhen(t *testing.T) {
	u, _, _ := screen(0)
	for at, want := range map[string]string{
		"":                          "",
		"2026-12-01T12:00:00Z":      "just now",
		"2026-12-01T11:59:18Z":      "42 s ago",
		"2026-12-01T11:01:00Z":      "59 min ago",
		"2026-12-01T09:00:00.5Z":    "2 h ago",
		"2026-11-29T12:00:01Z":      "47 h ago",
		"2026-11-20T12:00:00Z":      "11 d ago",
		"2026-12-01T12:12:00Z":      "in 12 min",
		"2026-12-01T14:00:00+01:00": "in 1 h",
		"soon":                      "soon",
	} {
		if got := u.when(at); got != want {
			t.Errorf("when(%q) = %q, want %q", at, got, want)
		}
	}
	if got := u.last("r-1 done at 2026-12-01T11:40:00Z"); got != "r-1 done, 20 min ago" {
		t.Errorf("last: %q", got)
	}
	if got := left("41m9s"); got != "41 min" {
		t.Errorf("left: %q", got)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestJSON: what must not reach a terminal is escaped, and the value stays exact.
func TestJSON(t *testing.T) {
	u, out, _ := screen(0)
	id := "a\x1b\u202e\u200b\U000e0041<&>é"
	if err := u.printJSON(map[string]string{"id": id}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"id\": \"a\\u001b\\u202e\\u200b\\udb40\\udc41<&>é\"\n}\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["id"] != id {
		t.Errorf("read back: %q, %v", back["id"], err)
	}
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{flag.ErrHelp, 0, ""},
		{errSaid(4), 4, ""},
		{wrongUse("x: no").hint("try %s", "y"), 2, "redrive-mcp: error: x: no\nhint: try y\n"},
		{errors.New("Odd thing\x1b[2J"), 1, "redrive-mcp: error: odd thing\\x1b[2J\n"},
		{&gate.Refusal{Code: gate.CodePolicy, Sentence: "Refused by rule poison of orders: it would fail again. See list_dead_letters."}, 3,
			"redrive-mcp: error: refused by rule poison of orders: it would fail again. See `letters`\n"},
		{&gate.Refusal{Code: gate.CodeNothing, Sentence: "No letter fits.", Hint: "Look again."}, 4,
			"redrive-mcp: error: no letter fits\nhint: look again\n"},
		{&gate.Refusal{Code: gate.CodeNoQueue, Sentence: "There is no queue."}, 2, "redrive-mcp: error: there is no queue\n"},
		{&gate.Refusal{Code: gate.CodeStopped, Sentence: "Stopped."}, 3, "redrive-mcp: error: stopped\n"},
		{&gate.Refusal{Code: gate.CodeAudit, Sentence: "Not recorded."}, 1, "redrive-mcp: error: not recorded\n"},
	} {
		u, out, errOut := screen(0)
		if code := u.report(tt.err); code != tt.code || errOut.String() != tt.text || out.Len() > 0 {
			t.Errorf("%v: code %d, %q; want %d, %q", tt.err, code, errOut, tt.code, tt.text)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		words string
		args  []string
		id    string
	}{
		{"a --id 1 b", []string{"a", "b"}, "1"},
		{"--id=1 a", []string{"a"}, "1"},
		{"a --id -1", []string{"a"}, "-1"},
		{"a -- --id 1", []string{"a", "--id", "1"}, ""},
		{"-- -a", []string{"-a"}, ""},
		{"", nil, ""},
	} {
		f := flag.NewFlagSet("", flag.ContinueOnError)
		id := f.String("id", "", "")
		args, err := parse(f, strings.Fields(tt.words))
		if err != nil || !reflect.DeepEqual(args, tt.args) || *id != tt.id {
			t.Errorf("%q: %q, id %q, %v", tt.words, args, *id, err)
		}
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"4711": "4711", "a b": "'a b'", "": "''", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "\x1b[2J": `'\x1b[2J'`,
	} {
		if got := word(in); got != want {
			t.Errorf("word(%q) = %s, want %s", in, got, want)
		}
	}
}

// TestCommands: each command says enough to be used.
func TestCommands(t *testing.T) {
	var check func(table []command)
	check = func(table []command) {
		for _, c := range table {
			if c.hidden {
				continue
			}
			if c.short == "" || c.long == "" || len(c.short) > 54 || strings.HasSuffix(c.short, ".") {
				t.Errorf("%s: its short text %q or its long text is not right", c.name, c.short)
			}
			if (c.setup != nil) == (c.example == "") {
				t.Errorf("%s: a command has a setup and an example, or neither", c.name)
			}
			check(c.subs)
		}
	}
	check(commands())
}

func TestWrap(t *testing.T) {
	got := wrap("one two three\nfour", 7)
	if want := []string{"one two", "three", "four"}; !reflect.DeepEqual(got, want) {
		t.Errorf("wrap: %q", got)
	}
}

func TestLabels(t *testing.T) {
	text := "notice\n<<<data 0f\n[1] a\n[2] [1] b\n[3] c\n>>>data 0f"
	got := labels(text, 2)
	if want := []string{"a", "[1] b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("labels: %q", got)
	}
}
