package rules

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

var rules = map[string]func([]*source) []string{
	"imports":  checkImports,
	"raw":      checkRaw,
	"durable":  checkDurable,
	"start":    checkStart,
	"sizes":    checkSizes,
	"comments": checkComments,
	"audit":    checkAudit,
	"words":    checkWords,
	"open":     checkLeftOpen,
	"skips":    checkSkips,
}

func TestTree(t *testing.T) {
	const root = "../.." // a test runs in its package's folder
	if mod, err := os.ReadFile(root + "/go.mod"); err != nil || !strings.HasPrefix(string(mod), "module "+module+"\n") {
		t.Fatalf("%s is not the root of %s (%v)", root, module, err)
	}
	all, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range rules {
		t.Run(name, func(t *testing.T) {
			for _, fault := range check(all) {
				t.Error(fault)
			}
		})
	}
}

// imports makes a file that imports one package of ours.
func imports(to string) string { return "package x\nimport _ \"" + module + "/" + to + "\"\n" }

// body makes a file with one function.
func body(code string) string { return "package x\nfunc f() {\n" + code + "\n}\n" }

func TestRulesCanFail(t *testing.T) {
	for _, c := range []struct{ rule, path, text string }{
		{"imports", "internal/approval/a.go", imports("backends")},
		{"imports", "internal/redrive/a.go", imports("policy")},
		{"imports", "internal/ledger/a.go", imports("internal/audit")},
		{"imports", "tools/a.go", imports("internal/ledger")},
		{"imports", "tools/a_test.go", imports("policy")},
		{"imports", "internal/cli/a.go", imports("backends/sqljobs")},
		{"imports", "elsewhere/a.go", "package x\n"},
		{"raw", "tools/a.go", body("_ = letter.Reason.Message.Raw()")},
		{"raw", "internal/gateway/a.go", body("text.Raw()")},
		{"durable", "internal/audit/a.go", body("file.Sync()")},
		{"durable", "internal/audit/a.go", body("os.WriteFile(name, data, 0o600)")},
		{"durable", "internal/audit/a.go", body("root.OpenFile(name, os.O_RDONLY|os.O_CREATE, 0o600)")},
		{"durable", "internal/demo/a.go", body("os.Create(name)")},
		{"durable", "internal/ledger/a.go", body("os.Rename(a, b)")},
		{"durable", "internal/ledger/a.go", body("unix.Fdatasync(fd)")},
		{"start", "policy/a.go", "package x\nvar p = regexp.MustCompile(`a`)\n"},
		{"start", "policy/a.go", "package x\nvar p = []any{template.Must(parse(``))}\n"},
		{"start", "policy/a.go", "package x\nvar p, _ = embedded.ReadFile(`a`)\n"},
		{"start", "policy/a.go", "package x\nfunc init() { pattern, _ = regexp.Compile(`a`) }\n"},
		{"sizes", "policy/a_test.go", "package x\n" + strings.Repeat("\n", maxFile)},
		{"sizes", "policy/a.go", "package x\n" + strings.Repeat("\n", maxMedian)},
		{"sizes", "policy/a.go", body(strings.Repeat("\n", maxFunction))},
		{"comments", "policy/a.go", "package x\n"},
		{"audit", "internal/cli/a.go", body("log.Append(ctx, record)")},
		{"audit", "internal/cli/a.go", body("log.Refused(ctx, record)")},
		{"words", "README.md", "see /wo" + "rk/notes\n"},
		{"words", ".ci/run", "#!/bin/sh\ncd /ro" + "ot/project\n"},
		{"open", "policy/a.go", "package x\n// TO" + "DO: the rest\n"},
		{"skips", "policy/a_test.go", body("t.Skip(`no server`)")},
		{"skips", "policy/a_test.go", body("if testing.Short() { return }")},
		{"skips", "policy/a_test.go", body("time.Sleep(time.Second)")},
	} {
		t.Run(c.rule+"/"+c.path, func(t *testing.T) {
			faults := check(t, c.rule, c.path, c.text)
			// The fault of the median names no file.
			if len(faults) != 1 || c.rule != "sizes" && !strings.HasPrefix(faults[0], c.path+":") {
				t.Errorf("want one fault that names %s, have %q, in\n%s", c.path, faults, c.text)
			}
		})
	}
}

// TestRulesAllow shows what the rules must let pass, so that none is kept by
// refusing everything.
func TestRulesAllow(t *testing.T) {
	for _, c := range []struct{ rule, path, text string }{
		{"imports", "main.go", imports("backends/sqljobs")},
		{"imports", "internal/gate/a.go", imports("internal/approval")},
		{"imports", "internal/gate/a_test.go", imports("backends/sqljobs")},
		{"imports", "policy/a_test.go", imports("policy")},
		{"imports", "policy/a.go", "package x\nimport _ \"" + module + "-other/x\"\n"},
		{"raw", "internal/gate/a.go", body("text.Raw()")},
		{"raw", "backends/sqljobs/a.go", body("text.Raw()")},
		{"raw", "tools/a.go", body("Raw(1); x.Raw(2)")},
		{"durable", "internal/durable/a.go", body("file.Sync()")},
		{"durable", "policy/a.go", body("root.OpenFile(name, os.O_RDONLY, 0); folder.OpenFile(name, flag)")},
		{"durable", "policy/a_test.go", body("os.WriteFile(name, data, 0o600)")},
		{"start", "policy/a.go", "package x\nvar p = sync.OnceValue(func() any { return regexp.MustCompile(`a`) })\n"},
		{"start", "policy/a.go", body("regexp.MustCompile(`a`)") + "var err = errors.New(`b`)\n"},
		{"sizes", "policy/a_test.go", body(strings.Repeat("\n", maxFunction))},
		{"comments", "policy/a.go", "// Package x.\npackage x\n"},
		{"audit", "internal/cli/a.go", body("line = fmt.Append(line, 1); log.Verify()")},
		{"words", "go.sum", "golang.org/wo" + "rk/x v1\n"},
		{"open", "docs/a.md", "a TO" + "DO list\n"},
		{"skips", "policy/a_test.go", body("t.Log(`Skip`)")},
	} {
		t.Run(c.rule+"/"+c.path, func(t *testing.T) {
			if faults := check(t, c.rule, c.path, c.text); len(faults) != 0 {
				t.Errorf("%q in\n%s", faults, c.text)
			}
		})
	}
}

// check runs one rule on a tree of one file, beside a binary that none reads.
func check(t *testing.T, rule, path, text string) []string {
	t.Helper()
	all, err := load(fstest.MapFS{path: {Data: []byte(text)}, "redrive-mcp": {Data: []byte("\x7fELF\x00 /wo" + "rk/")}})
	if err != nil {
		t.Fatal(err)
	}
	return rules[rule](all)
}

// TestExceptions: each has its reason, and goes when its file goes.
func TestExceptions(t *testing.T) {
	for _, list := range []map[string]string{writers, sleepers} {
		for file, reason := range list {
			if _, err := os.Stat("../../" + file); err != nil || reason == "" {
				t.Errorf("exception for %s, reason %q: %v", file, reason, err)
			}
		}
	}
}
