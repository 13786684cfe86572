package gate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable/smalldisk"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// On a full disk agents get a clear error and nothing is sent; people can still
// look, cancel and stop, and that is recorded; with room again all goes on.
func TestFullDisk(t *testing.T) {
	h := open(t, standard) // nothing is opened before it is needed
	state := filepath.Join(h.dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	smalldisk.Over(t, state, 768)
	h.reopen()
	ids := h.kill("orders", 2, "TimeoutError: x", `{"id":#}`)
	first := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: ids[0], Reason: "r"}))
	second := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: ids[1], Reason: "r"}))
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), second.RequestID, second.Digest, ""))
	h.gate.Close()

	free := smalldisk.Fill(t, state, 0)
	h.reopen()
	_, err := h.agent().ListQueues(t.Context(), gate.QueuesArgs{})
	if err == nil {
		t.Error("an agent was answered without a record")
	}
	h.reopen() // each command is a process of its own
	if _, err := h.person("ana").Run(t.Context(), second.RequestID, nil); err == nil {
		t.Error("a run began on a full disk")
	}
	h.reopen()
	p := h.person("ana")
	if st := must[*gate.StatusResult](t)(p.Pending(t.Context())); len(st.Requests) != 2 {
		t.Errorf("pending: %+v", st)
	}
	must[*gate.ShowResult](t)(p.Show(t.Context(), first.RequestID, false))
	must[*gate.StatusResult](t)(p.CancelRedrive(t.Context(), gate.CancelArgs{RequestID: first.RequestID, Reason: "the disk is full"}))
	if err := p.Stop(t.Context(), "the disk is full"); err != nil {
		t.Error(err)
	}
	h.gate.Close()
	if len(h.work()) != 0 {
		t.Error("something was sent")
	}

	free()
	h.reopen()
	p = h.person("ana")
	if err := p.Resume(t.Context(), "room again"); err != nil {
		t.Fatal(err)
	}
	must[*gate.RequestResult](t)(p.Run(t.Context(), second.RequestID, nil))
	if len(h.work()) != 1 {
		t.Error("it was not sent")
	}
	h.verify()
	seen := ""
	for _, rec := range h.log() {
		seen += rec.Phase + " " + rec.Tool + "\n"
	}
	for _, want := range []string{"cancel cancel_redrive", "stop stop", "call show", "call get_redrive"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the log lacks %q:\n%s", want, seen)
		}
	}
}
