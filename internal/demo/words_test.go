package demo

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"one  two", "one two"},
		{strings.Repeat("x", width) + " y", strings.Repeat("x", width) + "\ny"},
		{strings.Repeat("x", width-2) + " y", strings.Repeat("x", width-2) + " y"},
		{"a " + strings.Repeat("ü", width+9), "a\n" + strings.Repeat("ü", width+9)},
	} {
		if got := wrap(c.in); got != c.want {
			t.Errorf("wrap(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("the error is permanent, and the message is not patched")
	f.Add(strings.Repeat("word ", 60))
	f.Fuzz(func(t *testing.T, in string) {
		got := wrap(in)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(in), " ") {
			t.Errorf("wrap(%q) = %q has other words", in, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if utf8.RuneCountInString(line) > width && strings.Contains(line, " ") {
				t.Errorf("wrap(%q) has the long line %q", in, line)
			}
		}
	})
}

func TestShell(t *testing.T) {
	for in, want := range map[string]string{
		"/usr/bin/redrive-mcp": "/usr/bin/redrive-mcp",
		"":                     "",
		"/a folder":            "'/a folder'",
		"it's":                 `'it'\''s'`,
		"$HOME":                "'$HOME'",
	} {
		if got := shell(in); got != want {
			t.Errorf("shell(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestPassing(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/bin/redrive-mcp":                            false,
		"/tmp/go-build123/b001/exe/redrive-mcp":           true,
		"/home/ana/.cache/go-build/1f/1f00-d/redrive-mcp": true,
		"/home/ana/go/bin/redrive-mcp":                    false,
		"/home/ana/my-go-build/redrive-mcp":               false,
	} {
		if passing(file) != want {
			t.Errorf("passing(%s) is not %v", file, want)
		}
	}
}

func TestNameable(t *testing.T) {
	for name, want := range map[string]bool{
		"ana": true, "7of9": true, "a.b-c_d": true, strings.Repeat("a", 63): true,
		"": false, "Ana": false, "_apt": false, `CORP\ana`: false, "ana maria": false, strings.Repeat("a", 64): false,
	} {
		if nameable(name) != want {
			t.Errorf("nameable(%q) is not %v", name, want)
		}
	}
}

func TestWritePolicy(t *testing.T) {
	for _, named := range []bool{true, false} {
		f := folder(t.TempDir())
		file, err := f.writePolicy("ana", named)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		state, _ := json.Marshal(filepath.Join(string(f), "state"))
		if !bytes.Contains(text, append([]byte("state: "), state...)) || bytes.Contains(text, []byte("PERSON")) {
			t.Errorf("named %v: the policy is not filled in:\n%s", named, text)
		}
		if bytes.Contains(text, []byte(`{from: ["ana"]}`)) != named || bytes.Contains(text, []byte(`people: {"ana"`)) != named {
			t.Errorf("named %v: the policy names the wrong people:\n%s", named, text)
		}
	}
}

// TestTamper changes exactly one byte, in the copy.
func TestTamper(t *testing.T) {
	const log = `{"seq":0,"phase":"call","actor":"person ana"}` + "\n" + `{"seq":1,"phase":"approval","actor":"person ana"}` + "\n"
	f := folder(t.TempDir())
	original := filepath.Join(string(f), "state", "audit", "000000000000.jsonl")
	if err := os.MkdirAll(filepath.Dir(original), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(original, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.tamper(); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(original)
	if err != nil || string(kept) != log {
		t.Errorf("the original became %q (%v)", kept, err)
	}
	copied, err := os.ReadFile(f.path("tampered/audit/000000000000.jsonl"))
	want := strings.Replace(log, `"approval","actor":"person ana"`, `"approval","actor":"person anb"`, 1)
	if err != nil || string(copied) != want {
		t.Errorf("the copy is %q (%v), want %q", copied, err, want)
	}
	info, err := os.Stat(f.path("tampered/audit"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may enter the copy: %v (%v)", info.Mode(), err)
	}
}
