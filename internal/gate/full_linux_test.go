package gate_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// smallDisk mounts a file system of two megabytes at a folder.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m,mode=0700"); err != nil {
		t.Fatalf("mounting a small disk: %v; this test mounts a tmpfs, so run the tests as root", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// fill takes all room that is left in a folder.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); err == nil {
		t.Fatal("the disk does not fill up")
	}
	return func() { os.Remove(name) }
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// On a full disk agents get a clear error and nothing is sent; people can still
// look, cancel and stop, and that is recorded; with room again all goes on.
func TestFullDisk(t *testing.T) {
	h := open(t, standard) // nothing is opened before it is needed
	smallDisk(t, filepath.Join(h.dir, "state"))
	h.reopen()
	ids := h.kill("orders", 2, "TimeoutError: x", `{"id":#}`)
	first := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: ids[0], Reason: "r"}))
	second := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", ID: ids[1], Reason: "r"}))
	must[*gate.RequestResult](t)(h.person("ana").Approve(t.Context(), second.RequestID, second.Digest, ""))
	h.gate.Close()

	free := fill(t, filepath.Join(h.dir, "state"))
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
