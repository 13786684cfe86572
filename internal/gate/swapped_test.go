package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// dying is a real store whose executor dies between the commit and the record.
type dying struct{ backends.Store }

var errDead = errors.New("the process is dead")

func (d dying) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	return d.Store.Redrive(ctx, o, deaf{j})
}

func (d dying) Resolve(context.Context, string, []backends.Doubt, backends.Journal) error {
	return errDead
}

type deaf struct{ backends.Journal }

func (deaf) Record(context.Context, ...backends.Outcome) error { return errDead }

// TestAnotherStoreIsNotAsked: what became of a batch is asked of the store that
// it was sent to. A copy of it from before would say that nothing was sent.
func TestAnotherStoreIsNotAsked(t *testing.T) {
	h := open(t, standard)
	earlier, _ := approved(t, h)
	must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), earlier.RequestID, nil)) // the copy has receipts too
	real := sqljobs.SQLite()
	driver := real
	driver.Open = func(c backends.Config) (backends.Store, error) {
		st, err := real.Open(c)
		return dying{st}, err
	}
	h.openWith(driver)
	res, _ := approved(t, h)
	file, before, after := filepath.Join(h.dir, "jobs.db"), filepath.Join(h.dir, "before.db"), filepath.Join(h.dir, "after.db")
	h.exec("VACUUM INTO '" + before + "'")
	_, err := h.person("ana").Run(t.Context(), res.RequestID, nil)
	refused(t, err, gate.CodeStore, "not known yet")
	status := func() string {
		t.Helper()
		return must[*gate.StatusResult](t)(h.person("ana").GetRedrive(t.Context(), gate.GetArgs{RequestID: res.RequestID})).Requests[0].Status
	}

	for _, move := range [][2]string{{file, after}, {before, file}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	h.reopen()
	_, err = h.person("ana").Run(t.Context(), res.RequestID, nil)
	refused(t, err, gate.CodeStore, "not known yet", "another target")
	if got := status(); got != "running" {
		t.Errorf("by the word of another file it is %s", got)
	}
	if err := os.Rename(after, file); err != nil {
		t.Fatal(err)
	}
	done := must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
	if done.Status != "done" || done.Sent != 1 {
		t.Errorf("by the word of its own file it is %+v", done)
	}
	h.verify()
}
