package gate_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// unsafe are the things that may stand where a file or a folder of the state
// folder should. away is a path outside; what stood there before was moved to it.
var unsafe = map[string]func(path, away string) error{
	"a symbolic link": func(path, away string) error { return os.Symlink(away, path) },
	"a link to nowhere": func(path, away string) error {
		return errors.Join(os.Rename(away, away+".kept"), os.Symlink(away, path))
	},
	"a FIFO": func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	"a second name": func(path, away string) error {
		if err := os.Link(away, path); err != nil { // there is none of a folder
			return os.Symlink(away, path)
		}
		return nil
	},
	"another kind": func(path, away string) error {
		if info, err := os.Stat(away); err != nil || info.IsDir() {
			return errors.Join(err, os.WriteFile(path, nil, 0o600))
		}
		return os.Mkdir(path, 0o700)
	},
	"somebody else's": func(path, away string) error {
		return errors.Join(os.Rename(away, path), os.Lchown(path, 4711, 4711))
	},
	"readable by others": func(path, away string) error {
		info, err := os.Stat(away)
		if err != nil {
			return err
		}
		return errors.Join(os.Rename(away, path), os.Chmod(path, info.Mode()|0o044))
	},
	"writable by the group": func(path, away string) error {
		info, err := os.Stat(away)
		if err != nil {
			return err
		}
		return errors.Join(os.Rename(away, path), os.Chmod(path, info.Mode()|0o020))
	},
}

// places are the names in a state folder; PLAN and ID are those of a request.
// idle ones are not looked at by a run, or only their content is.
var places = map[string]struct{ idle bool }{
	".": {}, "ledger.db": {}, "ledger.db-wal": {}, "ledger.db-shm": {}, "ledger.db-journal": {},
	"audit": {}, "audit/lock": {}, "audit/000000000000.jsonl": {}, "audit/reserve": {},
	"objects": {}, "objects/PLAN": {}, "erasable": {idle: true}, "erasable/PLAN": {idle: true},
	"run-ID.lock": {}, "upgrade.lock": {idle: true}, "go": {}, "stopped": {idle: true},
	"snapshots-1.db": {idle: true}, "snapshots-1.db-wal": {idle: true}, "snapshots-1.db-shm": {idle: true}, "snapshots-1.db-journal": {idle: true},
	"snapshots.lock": {idle: true},
}

// In every place of the state folder, everything that does not belong there is
// refused with a sentence, and at once: nothing is sent, and nothing is written
// through it. When it is mended the request is run.
func TestUnsafePlaces(t *testing.T) {
	for place, want := range places {
		for name, put := range unsafe {
			t.Run(place+" is "+name, func(t *testing.T) {
				t.Parallel()
				h := open(t, standard)
				res, _ := approved(t, h)
				h.gate.Close()
				name := strings.NewReplacer("PLAN", res.Digest, "ID", res.RequestID).Replace(place)
				path, away := filepath.Join(h.dir, "state", name), filepath.Join(h.dir, "away")
				before := moveAway(t, path, away)
				if err := put(path, away); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a FIFO must hold nobody up
				defer cancel()
				h.reopen()
				_, err := h.person("ana").Run(ctx, res.RequestID, nil)
				h.gate.Close()
				sent := len(h.work())
				if want.idle {
					if err != nil || sent != 1 {
						t.Errorf("%v, %d sent", err, sent)
					}
				} else {
					r, ok := errors.AsType[*gate.Refusal](err)
					if !ok || r.Hint == "" && !strings.Contains(r.Sentence, "state folder") || sent != 0 {
						t.Errorf("%v, %d sent", err, sent)
					}
				}
				for _, p := range []string{away, away + ".kept"} {
					if after, ok := content(t, p); ok && !bytes.Equal(after, before) {
						t.Errorf("it was written through: %d bytes became %d", len(before), len(after))
					}
				}
				moveBack(t, path, away)
				h.reopen()
				if !want.idle {
					must[*gate.RequestResult](t)(h.person("ana").Run(t.Context(), res.RequestID, nil))
					sent = len(h.work())
				}
				if sent != 1 {
					t.Errorf("%d sent in the end", sent)
				}
				h.verify()
			})
		}
	}
}

// moveAway moves what stands at a path outside, or puts an empty file there if
// nothing does.
func moveAway(t *testing.T, path, away string) []byte {
	t.Helper()
	err := os.Rename(path, away)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(away, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, _ := content(t, away)
	return data
}

// content is that of a file or, for a folder, the names and contents in it.
func content(t *testing.T, path string) (data []byte, ok bool) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return nil, false
	}
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		data = append(append(data, strings.TrimPrefix(at, path)...), '\n')
		if err == nil && entry.Type().IsRegular() {
			var file []byte
			file, err = os.ReadFile(at)
			data = append(data, file...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return data, true
}

// moveBack mends a place.
func moveBack(t *testing.T, path, away string) {
	t.Helper()
	for _, from := range []string{away + ".kept", away} {
		if _, err := os.Lstat(from); err != nil {
			continue
		}
		if err := errors.Join(os.RemoveAll(path), os.Rename(from, path)); err != nil {
			t.Fatal(err)
		}
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	mode := fs.FileMode(0o600)
	if info.IsDir() {
		mode = 0o700
	}
	if err := errors.Join(os.Chmod(path, mode), os.Chown(path, os.Getuid(), os.Getgid())); err != nil {
		t.Fatal(err)
	}
}

// Whatever stands where the two files of a stop belong, stopping stops, and
// resuming goes on.
func TestStopWithUnsafeFiles(t *testing.T) {
	for _, place := range []string{"go", "stopped"} {
		for name, put := range unsafe {
			t.Run(place+" is "+name, func(t *testing.T) {
				t.Parallel()
				h := open(t, standard)
				res, _ := approved(t, h)
				path, away := filepath.Join(h.dir, "state", place), filepath.Join(h.dir, "away")
				before := moveAway(t, path, away)
				if err := put(path, away); err != nil {
					t.Fatal(err)
				}
				p := h.person("ana")
				if err := p.Stop(t.Context(), "enough"); place == "go" && err != nil {
					t.Error(err)
				} else if place == "stopped" {
					refused(t, err, gate.CodeAudit, "Everything is stopped")
				}
				_, err := p.Run(t.Context(), res.RequestID, nil)
				refused(t, err, gate.CodeStopped)
				if after, ok := content(t, away); ok && !bytes.Equal(after, before) {
					t.Error("it was written through")
				}
				if err := p.Resume(t.Context(), "on"); err != nil {
					t.Fatal(err)
				}
				must[*gate.RequestResult](t)(p.Run(t.Context(), res.RequestID, nil))
				h.verify()
			})
		}
	}
}
