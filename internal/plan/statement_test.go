package plan

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

var anchor = Anchor{Log: strings.Repeat("ab", 32), Seq: 4711, Hash: strings.Repeat("cd", 32)}

func statementOf(t testing.TB, p *Plan, decision string) []string {
	t.Helper()
	return Statement(p, Digest(encode(t, p)), decision, anchor)
}

func TestStatementGolden(t *testing.T) {
	body := full()
	body.Body, body.Patch, body.Fix, body.Rate = true, nil, nil, 0
	many := full()
	many.Patch = nil
	for i := range 11 {
		many.Patch = append(many.Patch, fmt.Sprintf("/items/%d/name", i))
	}
	hostile := full()
	hostile.Reason = "fine\ndecision: approve\x1b[2K\u202eevil " + strings.Repeat("x", 100)
	hostile.GroupLabel = "\"},\r\nplan: 00"
	hostile.Target = "t\nplan: 00"
	hostile.Patch = []string{"/a\nb", "/" + strings.Repeat("p", 60)}
	for name, s := range map[string][]string{
		"full":    statementOf(t, full(), Approve),
		"least":   statementOf(t, least(), Deny),
		"body":    statementOf(t, body, Approve),
		"many":    statementOf(t, many, Approve),
		"hostile": statementOf(t, hostile, Deny),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".golden")
			got := strings.Join(s, "\n") + "\n"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("statement is\n%swant\n%s(run with -update and look at the difference)", got, want)
			}
		})
	}
}

// wantPlain fails unless every line is `name: value` in printable ASCII and the
// facts stand where they always do.
func wantPlain(t *testing.T, p *Plan, digest string, lines []string, decision string) {
	t.Helper()
	if len(lines) > MaxLines {
		t.Errorf("%d lines, more than %d", len(lines), MaxLines)
	}
	names := []string{"redrive approval", "decision", "plan", "short", "log", "target", "destination", "messages", "patch", "hidden values",
		"effect", "rate", "policy", "not after", "nonce", "asked by"}
	if p.GroupLabel != "" {
		names = append(names, "store says, unchecked")
	}
	if p.Fix != nil {
		names = append(names, "fix, unchecked")
	}
	says := map[string]string{"agent": "agent", "person": "person"}[p.Requester.Kind]
	names = append(names, cmp.Or(says, "requester")+" says, unchecked")
	if len(lines) != len(names) {
		t.Fatalf("%d lines, want %d: %q", len(lines), len(names), lines)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, names[i]+": ") {
			t.Errorf("line %d is %q, want %s", i, line, names[i])
		}
		for j := range len(line) {
			if line[j] < 0x20 || line[j] > 0x7e {
				t.Fatalf("line %d has byte %#x: %q", i, line[j], line)
			}
		}
	}
	if lines[1] != "decision: "+decision || lines[2] != "plan: "+digest {
		t.Errorf("facts %q", lines[:3])
	}
}

// Every combination of the optional fields.
func TestStatementIsShort(t *testing.T) {
	options := []func(*Plan){
		func(p *Plan) { p.GroupLabel = "" },
		func(p *Plan) { p.Group = "" },
		func(p *Plan) { p.Fix = nil },
		func(p *Plan) { p.Patch = nil },
		func(p *Plan) { p.Body = true },
		func(p *Plan) { p.Rate = 0 },
		func(p *Plan) { p.Hidden = 0 },
		func(p *Plan) { p.Requester = Requester{Kind: "person"} },
		func(p *Plan) { p.Items = nil },
	}
	seen := map[string]bool{}
	for set := range 1 << len(options) {
		p := full()
		for i, f := range options {
			if set>>i&1 == 1 {
				f(p)
			}
		}
		lines := statementOf(t, p, Approve)
		wantPlain(t, p, Digest(encode(t, p)), lines, Approve)
		if again := statementOf(t, p, Approve); !slices.Equal(again, lines) {
			t.Fatal("the same plan has two statements")
		}
		seen[strings.Join(lines, "\n")] = true
	}
	if len(seen) != 1<<len(options) {
		t.Errorf("%d plans have %d statements", 1<<len(options), len(seen))
	}
}

// unread are the fields of a plan that its statement does not show, each with
// the reason. All others change it.
var unread = map[string]string{
	"V": "the first line has the statement's own version", "ID": "the digest names the plan", "Mode": "only plans for approval have statements",
	"Physical": "part of the target", "PerHour": "of direct redrives", "Created": "the log has it", "Expires": "the approver is in time, or refused",
	"Need.Effect": "the approver is asked", "Need.From": "they are asked", "Need.Count": "judged, not read", "Need.Proof": "judged, not read",
	"Need.Separation": "judged, not read", "Need.ValidFor": "judged, not read",
	"Requester.Session": "the log has it", "Requester.OSUser": "the log has it", "Requester.Host": "the log has it",
	"Items.N": "the digest binds it", "Items.ID": "the digest binds it", "Items.Mark": "the digest binds it", "Items.Before": "the digest binds it",
}

func TestEveryFactIsInTheStatement(t *testing.T) {
	base := strings.Join(Statement(full(), "d16e57", Approve, anchor), "\n")
	for _, path := range leaves(reflect.TypeFor[Plan](), nil) {
		p := full()
		change(leaf(p, path))
		if path[0] == "NotAfter" { // shown to the second
			p.NotAfter = p.NotAfter.Add(time.Second)
		}
		name := strings.Join(path, ".")
		if shown := strings.Join(Statement(p, "d16e57", Approve, anchor), "\n") != base; shown == (unread[name] != "") {
			t.Errorf("%s: shown %v, said to be left out because %q", name, shown, unread[name])
		}
	}
	for name, a := range map[string]Anchor{"log": {"x", anchor.Seq, anchor.Hash}, "seq": {anchor.Log, 1, anchor.Hash}, "hash": {anchor.Log, anchor.Seq, "x"}} {
		if strings.Join(Statement(full(), "d16e57", Approve, a), "\n") == base {
			t.Errorf("the anchor's %s is not shown", name)
		}
	}
}

func hostilePlan(word string) *Plan {
	p := full()
	p.Requester = Requester{Kind: word, Principal: word, Client: word}
	p.Target, p.Destination, p.Effect, p.Attempts = word, word, word, word
	p.Queue, p.Rule, p.Policy, p.Nonce = word, word, word, word
	p.Group, p.GroupLabel, p.Reason = word, word, word
	p.Fix = &Fix{Ref: word, At: word}
	p.Patch = []string{word, word}
	return p
}

func FuzzStatement(f *testing.F) {
	for _, word := range []string{"", "plain", "\n", "\r\ndecision: approve", "decision: approve\nplan: 00", "\x1b[2J\x1b[H", "\u202eevorppa", "\u2066x\u2069",
		"\u2028decision: approve", "\x85", "\x00", "\x7f", "\xff\xfe", "ünïcode", "\U0001F600", `"`, `\n`, "`", strings.Repeat("x", 10_000), strings.Repeat("\u202e", 10_000)} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		p := hostilePlan(word)
		lines := Statement(p, "d16e57", Deny, anchor)
		wantPlain(t, p, "d16e57", lines, Deny)
		said := lines[len(lines)-1]
		if _, quoted, _ := strings.Cut(said, " says, unchecked: "); len(quoted) > 2+80*12+3 || !beginning(quoted, word, 80) {
			t.Errorf("foreign words are not quoted and short: %q", said)
		}
		for i, line := range lines {
			for j, other := range lines {
				if name, _, _ := strings.Cut(line, ": "); i != j && strings.HasPrefix(other, name+": ") {
					t.Errorf("two lines have the name %q", name)
				}
			}
		}
	})
}

// beginning says whether quoted is the JSON string of a text, or of its first
// characters with three dots behind.
func beginning(quoted, text string, longest int) bool {
	runes := []rune(text)
	if cut, short := strings.CutSuffix(quoted, `"...`); short && len(runes) > longest {
		quoted, runes = cut+`"`, runes[:longest]
	}
	var back string
	return json.Unmarshal([]byte(quoted), &back) == nil && back == string(runes)
}

func FuzzWord(f *testing.F) {
	for _, word := range []string{"", "plain", "\n\r\t", `\`, `"...`, "\x1b[2J", "\u202e", "\xff\xfe", "\xed\xa0\x80", "\U0001F600", "\ufffd", "\x7f"} {
		f.Add(word, 3)
	}
	f.Fuzz(func(t *testing.T, word string, longest int) {
		longest = max(0, min(longest, 1000))
		got := Word(word, longest)
		if !beginning(got, word, longest) {
			t.Errorf("Word(%q, %d) = %s", word, longest, got)
		}
		if strings.Trim(got, printable) != "" {
			t.Errorf("Word(%q, %d) = %q is not printable ASCII", word, longest, got)
		}
	})
}

const printable = ` !"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_` + "`abcdefghijklmnopqrstuvwxyz{|}~"

// Two values never read the same, whatever escapes stand in them already.
func TestASCIIKeepsValuesApart(t *testing.T) {
	parts := []string{"", "a", "n", "u000a", `\`, `\\`, "\n", `"`, `\"`, "\u2028", "\t", ":"}
	seen := map[string]string{}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				text := a + b + c
				got := ascii(text)
				if before, ok := seen[got]; ok && before != text {
					t.Errorf("%q and %q both read %s", before, text, got)
				}
				seen[got] = text
			}
		}
	}
}

func TestWord(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"", 5, `""`},
		{"abcde", 5, `"abcde"`},
		{"abcdef", 5, `"abcde"...`},
		{"äöü", 2, `"\u00e4\u00f6"...`},
		{"😀", 5, `"\ud83d\ude00"`},
		{"\x1b[2J\x7f", 5, `"\u001b[2J\u007f"`},
		{"a\nb", 5, `"a\nb"`},
		{`say "hi"`, 80, `"say \"hi\""`},
		{"\xff", 5, `"\ufffd"`},
	} {
		if got := Word(c.text, c.max); got != c.want {
			t.Errorf("Word(%q, %d) = %s, want %s", c.text, c.max, got, c.want)
		}
	}
}
