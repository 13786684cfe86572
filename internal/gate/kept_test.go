package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// A policy that the ledger has noted and the log has not kept, as an older
// version left it, is kept by the next process, and not recorded twice.
func TestPolicyIsKeptLater(t *testing.T) {
	h := open(t, standard)
	must[*gate.QueuesResult](t)(h.agent().ListQueues(t.Context(), gate.QueuesArgs{}))
	h.gate.Close()
	objects := filepath.Join(h.dir, "state", "objects")
	if err := os.RemoveAll(objects); err != nil {
		t.Fatal(err)
	}
	h.reopen()
	must[*gate.QueuesResult](t)(h.agent().ListQueues(t.Context(), gate.QueuesArgs{}))
	digest, times := "", 0
	for _, rec := range h.log() {
		if rec.Phase == "policy" {
			digest = rec.Policy
			times++
		}
	}
	list, err := os.ReadFile(filepath.Join(objects, digest))
	if err != nil || len(list) == 0 || times != 1 {
		t.Fatalf("the policy was recorded %d times, its list of files is %q, %v", times, list, err)
	}
	h.verify()
}
