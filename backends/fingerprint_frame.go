package backends

import "strings"

// language is whose notation a frame is in, as far as it matters.
type language int

const (
	none language = iota
	golang
	python
	other
)

// frameIn reads the frame in a line. The name is "" for a frame of the
// language's own runtime. Go writes the function on the line before.
func frameIn(line, prev string) (name string, lang language) {
	s := strings.TrimSpace(line)
	switch {
	case s == "":
		return "", none
	case isGoPlace(line):
		return goFrame(strings.TrimSpace(prev)), golang
	case strings.HasPrefix(s, `File "`):
		return pythonFrame(s), python
	case strings.HasPrefix(s, "at ") && isRustFrame(prev): // only the place
		return "", other
	}
	ruby, elixir := places(s)
	for _, f := range []struct {
		may  bool
		read func(string) (string, bool)
	}{{s[0] == 'a', atFrame}, {s[0] == '#', phpFrame}, {ruby, rubyFrame}, {elixir, elixirFrame}, {isDigit(s[0]), rustFrame}} {
		if !f.may {
			continue
		}
		if name, ok := f.read(s); ok {
			return name, other
		}
	}
	return "", none
}

func isGoPlace(line string) bool {
	if line[0] != '\t' && line[0] != ' ' {
		return false
	}
	_, after, ok := strings.Cut(line, ".go:")
	return ok && after != "" && isDigit(after[0])
}

// places looks at the colons of a line, of which most have few, for what the
// frames of Ruby and Elixir have there.
func places(s string) (ruby, elixir bool) {
	for i := 0; ; i++ {
		n := strings.IndexByte(s[i:], ':')
		if n < 0 {
			return ruby, elixir
		}
		i += n
		ruby = ruby || strings.HasPrefix(s[i:], ":in ")
		elixir = elixir || strings.HasSuffix(s[:i], ".ex") || strings.HasSuffix(s[:i], ".exs") || strings.HasSuffix(s[:i], ".erl")
	}
}

// goFrame reads "example.org/app.(*Worker).Do(0xc000123, {…})".
func goFrame(s string) string {
	s = withoutArguments(s)
	for _, p := range []string{"runtime.", "runtime/", "panic", "testing.", "created by "} {
		if strings.HasPrefix(s, p) {
			return ""
		}
	}
	return tidy(s)
}

// withoutArguments drops the last group of parentheses if it ends the text.
func withoutArguments(s string) string {
	depth := 0
	for i := len(s) - 1; i >= 0 && strings.HasSuffix(s, ")"); i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return s[:i]
			}
		}
	}
	return s
}

// pythonFrame reads `File "/app/tasks.py", line 3, in handle`.
func pythonFrame(s string) string {
	path, rest, _ := strings.Cut(strings.TrimPrefix(s, `File "`), `"`)
	own := strings.Contains(path, "/lib/python") && !strings.Contains(path, "-packages/")
	if own || strings.HasPrefix(path, "<frozen ") {
		return ""
	}
	_, name, _ := strings.Cut(rest, ", in ")
	return tidy(name) + " (" + place(path) + ")"
}

// atFrame reads the frames of JavaScript, "at fn (/app/a.js:1:2)", of Java,
// "at a.b.C.m(C.java:1)", and of .NET, "at A.B.M(Int32 i) in /src/a.cs:line 1".
func atFrame(s string) (string, bool) {
	s, ok := strings.CutPrefix(s, "at ")
	if !ok || !strings.Contains(s, "(") && !endsInDigit(s) {
		return "", false
	}
	s = strings.TrimPrefix(s, "async ")
	name, where, called := strings.Cut(s, "(")
	if !called {
		name, where = "", s
	}
	if script := !called || strings.HasSuffix(name, " "); script {
		return scriptFrame(strings.TrimSpace(name), strings.TrimSuffix(where, ")")), true
	}
	name = name[strings.LastIndexByte(name, '/')+1:] // java.base@21/java.net…
	for _, p := range []string{"java.", "javax.", "jdk.", "sun.", "System."} {
		if strings.HasPrefix(name, p) {
			return "", true
		}
	}
	return tidy(name), true
}

func scriptFrame(name, where string) string {
	for _, p := range []string{"node:", "internal/", "<anonymous>", "native", "index "} {
		if strings.HasPrefix(where, p) {
			return ""
		}
	}
	name, _, _ = strings.Cut(name, " [as ")
	return strings.TrimSpace(tidy(name) + " (" + place(where) + ")")
}

// phpFrame reads `#0 /app/a.php(12): App\Job->handle(…)`.
func phpFrame(s string) (string, bool) {
	s, ok := strings.CutPrefix(s, "#")
	if !ok || s == "" || !isDigit(s[0]) {
		return "", false
	}
	if strings.HasSuffix(s, " {main}") {
		return "{main}", true
	}
	_, call, ok := strings.Cut(s, "): ")
	if _, after, internal := strings.Cut(s, " [internal function]: "); internal {
		call, ok = after, true
	}
	name, _, _ := strings.Cut(call, "(")
	return tidy(name), ok
}

// rubyFrame reads "/app/a.rb:12:in `block in perform'" and, since Ruby 3.4,
// "/app/a.rb:12:in 'Job#perform'".
func rubyFrame(s string) (string, bool) {
	path, name, ok := strings.Cut(s, ":in `")
	if !ok {
		path, name, ok = strings.Cut(s, ":in '")
	}
	if !ok || !endsInDigit(path) {
		return "", false
	}
	path = strings.TrimPrefix(path, "from ")
	if strings.HasPrefix(path, "<internal:") {
		return "", true
	}
	name, _, _ = strings.Cut(name, "'")
	name = name[strings.LastIndex(name, " ")+1:]
	return tidy(name[strings.LastIndexAny(name, "#.")+1:]) + " (" + place(path) + ")", true
}

// elixirFrame reads "(app 1.0.0) lib/app/job.ex:12: App.Job.perform/1".
func elixirFrame(s string) (string, bool) {
	for _, ext := range []string{".ex:", ".exs:", ".erl:"} {
		path, after, ok := strings.Cut(s, ext)
		line, name, called := strings.Cut(after, ": ")
		if !ok || !called || !endsInDigit(line) {
			continue
		}
		for _, own := range []string{"(elixir ", "(stdlib ", "(kernel ", "(erts "} {
			if strings.HasPrefix(path, own) {
				return "", true
			}
		}
		return tidy(withoutArguments(name)), true
	}
	return "", false
}

func isRustFrame(line string) bool {
	_, ok := rustFrame(strings.TrimSpace(line))
	return ok
}

// rustFrame reads "3: app::worker::handle::h0123456789abcdef".
func rustFrame(s string) (string, bool) {
	n, name, ok := strings.Cut(s, ": ")
	if !ok || !allDigits(n) {
		return "", false
	}
	name = strings.TrimSpace(name)
	if strings.HasPrefix(name, "0x") {
		_, name, _ = strings.Cut(name, " - ")
	}
	// The panic machinery and the standard library.
	for _, p := range []string{"rust_", "core::", "std::", "alloc::", "<core::", "<alloc::", "<std::", "__rust"} {
		if strings.HasPrefix(name, p) {
			return "", true
		}
	}
	return tidy(name), strings.Contains(name, "::")
}
