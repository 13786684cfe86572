package audit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

func TestDocumentHoldsTheScript(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "verify.sh"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "audit-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```sh\n"+string(script)+"```\n") {
		t.Error("docs/audit-format.md does not hold testdata/verify.sh as it is")
	}
	for _, key := range keys {
		if !strings.Contains(string(doc), "`"+key+"`") {
			t.Errorf("docs/audit-format.md does not name %s", key)
		}
	}
	for _, phase := range []string{PhaseStart, PhasePolicy, PhaseCall, PhaseDecision, PhasePlan, PhaseApproval, PhaseRun, PhaseIntent,
		PhaseOutcome, PhaseResolve, PhaseCancel, PhaseCheckpoint, PhaseStop, PhaseRecovery, PhaseRotate} {
		if !strings.Contains(string(doc), "\n| `"+phase+"` | ") {
			t.Errorf("docs/audit-format.md does not tell of the phase %s", phase)
		}
	}
}

// script runs the auditor's script and returns its output and whether it was
// content.
func script(t *testing.T, state *durable.Folder, heads ...string) (string, bool) {
	t.Helper()
	args := append([]string{filepath.Join("testdata", "verify.sh"), filepath.Join(state.Path(), logFolder)}, heads...)
	out, err := exec.Command("sh", args...).CombinedOutput()
	if (err == nil) != strings.HasPrefix(string(out), "OK ") {
		t.Errorf("%v: %s", err, out)
	}
	return string(out), err == nil
}

func TestScriptAcceptsARealLog(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{SegmentBytes: 1500})
	var heads []string
	for n := range 6 {
		r := fullRecord(n)
		r.Op, r.Why = `\","phase":"rotate" \n "`, "\x00\x1b[31m é \\u0041 %s $(true) `true`"
		head := mustAppend(t, log, r)
		heads = append(heads, fmt.Sprintf("%d:%s", head.Seq, head.Hash))
	}
	long := mustAppend(t, log, Record{Phase: PhaseOutcome, Why: strings.Repeat("\u202e", 9000), Items: make([]Item, 500)})
	heads = append(heads, fmt.Sprintf("%d:%s", long.Seq, long.Hash))
	last := heads[len(heads)-1]
	for _, known := range [][]string{nil, {last}, {heads[0], heads[3], last}} {
		if out, ok := script(t, state, known...); !ok || !strings.Contains(out, last) {
			t.Errorf("heads %v: %s", known, out)
		}
	}
	wrong := strings.Replace(heads[2], ":", ":0", 1)[:len(heads[2])]
	if out, ok := script(t, state, wrong); ok {
		t.Errorf("a head that is not in the log: %s", out)
	}
}

func TestScriptFindsTampering(t *testing.T) {
	state, lines := sample(t)
	head := wantSample(t, state)
	known := fmt.Sprintf("%d:%s", head.Seq, head.Hash)
	try := func(name string, lines []string, heads ...string) {
		t.Helper()
		setLines(t, state, lines)
		if out, ok := script(t, state, heads...); ok {
			t.Errorf("%s is not found: %s", name, out)
		}
	}
	for _, key := range keys {
		text := []byte(lines[2])
		text[strings.Index(lines[2], `"`+key+`":`)+len(key)+4] ^= 1
		try("edit of "+key, slices.Concat(lines[:2], []string{string(text)}, lines[3:]))
	}
	_, foreign := sample(t)
	try("deleted line", slices.Concat(lines[:2], lines[3:]))
	try("deleted first line", lines[1:])
	try("swapped lines", slices.Concat(lines[:2], []string{lines[3], lines[2]}, lines[4:]))
	try("doubled line", slices.Concat(lines[:3], lines[2:]))
	try("foreign line", slices.Concat(lines[:3], foreign[3:4], lines[4:]))
	try("forged line", slices.Concat(lines[:3], []string{reseal(strings.Replace(lines[3], "luis", "anna", 1))}, lines[4:]))
	try("time going back", slices.Concat(lines[:5], []string{reseal(strings.Replace(lines[5], `"ts":"2026`, `"ts":"2025`, 1))}))
	try("null byte", slices.Concat(lines[:3], []string{"\x00" + lines[3]}, lines[4:]))
	try("torn end", slices.Concat(lines[:5], []string{lines[5][:90]}))
	try("cut tail", lines[:4], known)
	setLines(t, state, lines[:4])
	if out, ok := script(t, state); !ok {
		t.Errorf("a cut tail without a known head looks whole: %s", out)
	}
}
