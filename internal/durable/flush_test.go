package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
	"github.com/redrive-mcp/redrive-mcp/internal/durable/badflush"
)

// Everything that promises to survive a crash says so when a flush fails. The
// kernel tells of a failed flush once and forgets it, so the folder keeps it in
// mind: what it could not flush is not called durable by a later flush that works.
func TestFailedFlush(t *testing.T) {
	data := []byte("data")
	for name, do := range map[string]func(f *durable.Folder) error{
		"new":       func(f *durable.Folder) error { return f.WriteNew("new", data) },
		"same":      func(f *durable.Folder) error { return f.WriteNew("there", data) },
		"overwrite": func(f *durable.Folder) error { return f.Overwrite("there", []byte("other")) },
		"remove":    func(f *durable.Folder) error { return f.Remove("there") },
		"folder":    func(f *durable.Folder) error { return f.SyncDir() },
		"sub":       func(f *durable.Folder) error { return second(f.Sub("sub")) },
		"bare sub": func(f *durable.Folder) error {
			return errors.Join(os.Mkdir(filepath.Join(f.Path(), "sub"), 0o700), second(f.Sub("sub")))
		},
		"bare folder": func(f *durable.Folder) error {
			deep := filepath.Join(f.Path(), "deep")
			return errors.Join(os.Mkdir(deep, 0o700), second(durable.Open(deep)))
		},
		"open":  func(f *durable.Folder) error { return second(durable.Open(filepath.Join(f.Path(), "deep", "er"))) },
		"bytes": func(f *durable.Folder) error { return onFile(f, durable.DataSync) },
		"cut": func(f *durable.Folder) error {
			return onFile(f, func(file *os.File) error { return durable.Truncate(file, 1) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := durable.Open(filepath.Join(t.TempDir(), "state"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.WriteNew("there", data); err != nil {
				t.Fatal(err)
			}
			badflush.During(t, func() { err = do(f) })
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("it says %v, want EIO", err)
			}
			names, err := f.Names()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if name != "there" && name != "sub" && name != "deep" && name != "new" {
					t.Errorf("it leaves %s", name)
				}
			}
		})
	}
}

// second is the error of a call that opens a folder.
func second(f *durable.Folder, err error) error {
	if err == nil {
		f.Close()
	}
	return err
}

func onFile(f *durable.Folder, do func(*os.File) error) error {
	file, err := f.OpenFile("there", os.O_RDWR)
	if err != nil {
		return err
	}
	defer file.Close()
	return do(file)
}

func TestFailedFlushIsKeptInMind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, err := durable.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.WriteNew("there", nil); err != nil {
		t.Fatal(err)
	}
	badflush.During(t, func() { err = f.SyncDir() })
	if err == nil {
		t.Fatal("no error")
	}
	for name, do := range map[string]func() error{
		"flush": f.SyncDir, "remove": func() error { return f.Remove("none") },
		"same": func() error { return f.WriteNew("there", nil) }, "new": func() error { return f.WriteNew("new", nil) },
		"sub": func() error { return second(f.Sub("sub")) },
	} {
		if err := do(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s after a failed flush: %v", name, err)
		}
	}
	again, err := durable.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.WriteNew("newer", nil); err != nil {
		t.Errorf("opened again: %v", err)
	}
}
