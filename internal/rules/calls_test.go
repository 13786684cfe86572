package rules

import (
	"go/ast"
	"slices"
	"strings"
)

// calls hands every call x.name(args) of a file to visit.
func calls(root ast.Node, visit func(call *ast.CallExpr, on ast.Expr, name string)) {
	ast.Inspect(root, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				visit(call, sel.X, sel.Sel.Name)
			}
		}
		return true
	})
}

// named is the identifier that an expression is, or "".
func named(x ast.Expr) string {
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// checkRaw: text of a store is unwrapped only where it is made and where it is
// redacted. Everybody else sees the sanitised form.
func checkRaw(all []*source) []string {
	var faults []string
	for _, s := range golang(all) {
		if s.in("internal/gate", "backends") {
			continue
		}
		calls(s.syntax, func(call *ast.CallExpr, _ ast.Expr, name string) {
			if name == "Raw" && len(call.Args) == 0 {
				faults = append(faults, s.fault(call.Pos(), "Raw() is called outside internal/gate and backends"))
			}
		})
	}
	return faults
}

// writers are the files outside internal/durable that may write files, each
// with its reason.
var writers = map[string]string{
	"internal/cli/ui.go":               "writes to the terminal, which keeps nothing",
	"internal/demo/folder.go":          "the demo's own throw-away folder; it imports nothing of ours, and nothing in it has to survive",
	"backends/sqljobs/postgres_dsn.go": "an empty service file for the length of one call; nothing in it has to survive",
}

// checkDurable: only internal/durable writes, renames and flushes files, so
// that every step that a crash can interrupt is looked at in one place.
func checkDurable(all []*source) []string {
	var faults []string
	for _, s := range golang(all) {
		if s.isTest() || s.in("internal/durable") || writers[s.path] != "" {
			continue
		}
		calls(s.syntax, func(call *ast.CallExpr, on ast.Expr, name string) {
			if writes(named(on), name, call.Args) {
				faults = append(faults, s.fault(call.Pos(), "%s writes or flushes a file outside internal/durable", name))
			}
		})
	}
	return faults
}

// writes knows functions of os, methods of os.Root and os.File, which the
// number of their arguments tells from others, and system calls.
func writes(on, name string, args []ast.Expr) bool {
	switch name {
	case "WriteFile":
		return len(args) == 3
	case "OpenFile":
		return len(args) == 3 && !readOnly(args[1])
	case "Rename":
		return len(args) == 2
	case "Sync":
		return len(args) == 0
	case "Create", "CreateTemp", "Link", "Truncate":
		return on == "os"
	}
	return (on == "syscall" || on == "unix") && slices.Contains([]string{
		"Fdatasync", "Fsync", "Sync", "SyncFileRange", "Rename", "Renameat", "Renameat2", "Open", "Openat", "Creat", "FcntlInt"}, name)
}

func readOnly(flag ast.Expr) bool {
	sel, ok := flag.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "O_RDONLY"
}

// checkStart: nothing is compiled, parsed or opened before it is needed, so no
// package does it in a variable's initial value or in init.
func checkStart(all []*source) []string {
	var faults []string
	for _, s := range golang(all) {
		if s.isTest() {
			continue
		}
		for _, node := range atStart(s.syntax) {
			for _, call := range startCalls(node) {
				faults = append(faults, s.fault(call.Pos(), "%s runs when the program starts; do it when it is first needed", dotted(call.Fun)))
			}
		}
	}
	return faults
}

// atStart returns what runs before main.
func atStart(file *ast.File) []ast.Node {
	var nodes []ast.Node
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			nodes = append(nodes, d)
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				nodes = append(nodes, d.Body)
			}
		}
	}
	return nodes
}

// startCalls finds the calls that compile, parse or open, but not those inside
// a function literal: that runs when somebody calls it (sync.OnceValue).
func startCalls(node ast.Node) []*ast.CallExpr {
	heavy := []string{"regexp", "template", "jsonschema", "yaml", "json", "jsontext", "sql", "os", "fs"}
	var found []*ast.CallExpr
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			pkg, name, _ := strings.Cut(dotted(n.Fun), ".")
			if slices.Contains(heavy, pkg) && name != "" || strings.HasPrefix(name, "ReadFile") || strings.HasPrefix(name, "ReadDir") {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// dotted is "pkg.Name" for a call of that form, otherwise "".
func dotted(fun ast.Expr) string {
	if sel, ok := fun.(*ast.SelectorExpr); ok && named(sel.X) != "" {
		return named(sel.X) + "." + sel.Sel.Name
	}
	return ""
}

// checkAudit: what people type reads the log and never writes it. That only
// gate, redrive and cli import it at all stands in the table of arrows.
func checkAudit(all []*source) []string {
	var faults []string
	for _, s := range golang(all) {
		if s.isTest() || !s.in("internal/cli") {
			continue
		}
		calls(s.syntax, func(call *ast.CallExpr, on ast.Expr, name string) {
			if (name == "Append" || name == "Refused") && named(on) != "fmt" {
				faults = append(faults, s.fault(call.Pos(), "%s writes the audit log; only gate and redrive do", name))
			}
		})
	}
	return faults
}

// sleepers are the files that may sleep, each with its reason.
var sleepers = map[string]string{
	"internal/audit/refused_test.go": "in a testing/synctest bubble, where the clock is not real",
}

// checkSkips: a test runs or fails, and waits for an event, not for a time.
func checkSkips(all []*source) []string {
	var faults []string
	for _, s := range golang(all) {
		calls(s.syntax, func(call *ast.CallExpr, on ast.Expr, name string) {
			switch {
			case s.isTest() && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, name):
				faults = append(faults, s.fault(call.Pos(), "a test may not be skipped"))
			case named(on) == "testing" && name == "Short":
				faults = append(faults, s.fault(call.Pos(), "a test may not be shortened"))
			case named(on) == "time" && name == "Sleep" && sleepers[s.path] == "":
				faults = append(faults, s.fault(call.Pos(), "sleeps; wait for an event instead"))
			}
		})
	}
	return faults
}
