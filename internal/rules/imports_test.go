package rules

import (
	"slices"
	"strconv"
	"strings"
)

// arrows lists for each package, by folder, which of ours it may import. An
// arrow that is not here is an error, and so is a package that is not here.
var arrows = map[string][]string{
	// The program. Only main names a store; the rest knows the contract.
	"": {"internal/cli", "backends", "backends/sqljobs", "backends/sqs"},

	// What people and agents touch. They reach stores, ledger and plans through
	// the gate alone. cli besides reads the log (verify, search), checks policy
	// files, starts the tools and the demo, and passes the drivers through.
	"internal/cli":   {"internal/gate", "internal/audit", "internal/inbox", "internal/demo", "internal/durable", "internal/nearest", "policy", "tools", "prompts", "backends"},
	"internal/inbox": {"internal/gate"},
	"internal/demo":  {},
	"tools":          {"internal/gate", "prompts", "backends", "tools/args", "tools/stdio"},
	"tools/args":     {"internal/nearest"},
	"tools/stdio":    {},
	"prompts":        {"internal/gate"},

	// The one door composes everything below it.
	"internal/gate": {"internal/redrive", "policy", "internal/plan", "internal/approval", "internal/ledger", "internal/audit", "internal/snapshot", "backends", "internal/rawjson", "internal/durable"},

	// The executor knows no policy and no approval: it is told what to send.
	"internal/redrive": {"internal/ledger", "internal/audit", "backends"},

	// The ledger keeps Refs and Outcomes as the stores name them.
	"internal/ledger": {"internal/durable", "backends"},
	// It keeps what looks saw, as the contract of the stores says.
	"internal/snapshot": {"internal/durable", "backends"},
	"internal/audit":    {"internal/durable"},
	"policy":            {"internal/rawjson", "internal/nearest"},
	"internal/plan":     {"internal/rawjson"},

	// The ground: nothing of ours.
	"internal/approval": {},
	"internal/rawjson":  {},
	"internal/durable":  {},
	"internal/nearest":  {}, // "did you mean …?", for whoever names what is known: policy, tools and commands
	"internal/rules":    {},

	// Tests alone: they run the built program, and one whose store lies.
	"internal/accounting": {"backends"},

	"backends": {},

	"internal/durable/smalldisk": {}, // a disk that tests fill
	"internal/durable/badflush":  {}, // a disk whose flushes fail
	"backends/sqs/sqstest":       {}, // servers that tests ask

	// What other services leave in a queue; it reads bytes and asks nobody.
	"backends/sqs/envelope": {"backends"},

	"backends/sqljobs":     {"backends"},
	"backends/sqs":         {"backends", "backends/sqs/envelope"},
	"backends/backendtest": {"backends"},
}

// testArrows are open to test files everywhere: a test of the gate needs a real
// store to stand on, a store needs the suite that proves it, and a test of an
// upper room looks into the log or the ledger to see what really happened there.
func testArrow(to string) bool {
	return to == "backends/backendtest" || to == "backends/sqljobs" || to == "backends/sqs" || to == "backends/sqs/sqstest" || strings.HasPrefix(to, "internal/")
}

// checkImports: arrows point down only.
func checkImports(all []*source) []string {
	var faults []string
	for _, s := range golang(all) {
		from := s.dir()
		allowed, known := arrows[from]
		if !known {
			faults = append(faults, s.fault(s.syntax.Package, "package %q has no line in the table of arrows", from))
			continue
		}
		for _, spec := range s.syntax.Imports {
			to, ours := ourImport(spec.Path.Value)
			// A test in package x_test imports its own package.
			if !ours || slices.Contains(allowed, to) || s.isTest() && (to == from || testArrow(to)) {
				continue
			}
			faults = append(faults, s.fault(spec.Pos(), "%q may not import %q", from, to))
		}
	}
	return faults
}

// ourImport returns the folder of an import of this module.
func ourImport(quoted string) (folder string, ours bool) {
	name, err := strconv.Unquote(quoted)
	if err != nil || name != module && !strings.HasPrefix(name, module+"/") {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, module), "/"), true
}
