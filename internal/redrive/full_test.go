package redrive

import (
	"fmt"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/durable/smalldisk"
)

// The disk of the state folder fills up at every step of a run, whole or but for
// a page or two, so that writes are cut short in the middle too. What was in hand
// is recorded in the space that is held back. Nothing is sent that was not
// intended, and with room again the plan comes to its end.
func TestDiskFullAtEveryStep(t *testing.T) {
	for name, setup := range kinds {
		t.Run(name, func(t *testing.T) {
			disk := smalldisk.Mount(t, 1500)
			seeds := &seeds{parent: disk, path: disk + "/seed", ids: []string{"a", "b", "c", "gone"}}
			worldIn(t, seeds.path, seeds.ids...)
			for at := 1; ; at++ {
				w := crashWorld(t, seeds, setup)
				free := func() {}
				reached, where := w.brokenBy(at, func() { free = smalldisk.Fill(t, disk, at%4) })
				if !reached {
					if at < 20 {
						t.Errorf("only %d steps were tried", at)
					}
					break
				}
				where = fmt.Sprintf("%s, with %d pages left", where, at%4)
				w.wantRecorded(where)
				free()
				w.finish()
				w.check(where)
			}
		})
	}
}

// wantRecorded: of what went, nothing is left in doubt while the disk is full.
func (w *world) wantRecorded(what string) {
	w.t.Helper()
	w.steps = steps{}
	logged := map[int]bool{}
	for _, r := range w.records(audit.PhaseOutcome, audit.PhaseResolve) {
		for _, it := range r.Items {
			logged[it.N] = true
		}
	}
	for _, it := range w.items() {
		if w.store.sent[it.Ref.ID] > 0 && (it.State == backends.Intended || !logged[it.N]) {
			w.t.Errorf("%s: %s went, is %s in the ledger, and its outcome is in the log: %v", what, it.Ref.ID, it.State, logged[it.N])
		}
	}
}
