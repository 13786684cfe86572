package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func testFolder(t *testing.T) *Folder {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func wantUnsafe(t *testing.T, err error, why string) {
	t.Helper()
	var unsafe *Unsafe
	if !errors.As(err, &unsafe) || !strings.Contains(unsafe.Why, why) || unsafe.Hint == "" || !filepath.IsAbs(unsafe.Path) && why != "relative" {
		t.Errorf("error %v, want an *Unsafe that says %q", err, why)
	}
}

func TestOpenMakesPrivateFolders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "state")
	for range 2 {
		f, err := Open(path + "/")
		if err != nil {
			t.Fatal(err)
		}
		if f.Path() != path {
			t.Errorf("path %s, want %s", f.Path(), path)
		}
		f.Close()
	}
	for p := path; filepath.Base(p) != "001"; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v", p, info.Mode(), err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("real"), 0o700))
	must(os.Symlink(at("real"), at("link")))
	must(os.Symlink(at("nowhere"), at("dangling")))
	must(os.WriteFile(at("file"), nil, 0o600))
	must(os.Mkdir(at("open"), 0o700))
	must(os.Chmod(at("open"), 0o750))
	for name, why := range map[string]string{"link": "symbolic link", "link/": "symbolic link", "dangling": "symbolic link", "file": "not a folder", "open": "others may enter"} {
		_, err := Open(dir + "/" + name)
		wantUnsafe(t, err, why)
	}
	_, err := Open("state")
	wantUnsafe(t, err, "relative")
	_, err = Open(at("open"))
	if err == nil || !strings.Contains(err.Error(), "chmod 700 "+at("open")) {
		t.Errorf("error %v does not name the command", err)
	}
}

func TestSubFolders(t *testing.T) {
	f := testFolder(t)
	if _, err := f.Existing("sub"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Existing before Sub: %v", err)
	}
	sub, err := f.Sub("sub")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if sub.Path() != filepath.Join(f.Path(), "sub") {
		t.Errorf("path %s", sub.Path())
	}
	if err := os.Symlink(sub.Path(), filepath.Join(f.Path(), "link")); err != nil {
		t.Fatal(err)
	}
	_, err = f.Sub("link")
	wantUnsafe(t, err, "symbolic link")
	if err := os.Chmod(sub.Path(), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = f.Sub("sub")
	wantUnsafe(t, err, "others may enter")
	for _, name := range []string{"", ".", "..", "a/b", "/etc", "../x"} {
		_, err := f.Sub(name)
		wantUnsafe(t, err, "plain file name")
	}
}

// fakeInfo is a file whose owner is somebody else: only root can make one.
type fakeInfo struct {
	mode fs.FileMode
	stat syscall.Stat_t
}

func (i fakeInfo) Name() string       { return "x" }
func (i fakeInfo) Size() int64        { return 0 }
func (i fakeInfo) Mode() fs.FileMode  { return i.mode }
func (i fakeInfo) ModTime() time.Time { return time.Time{} }
func (i fakeInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fakeInfo) Sys() any           { return &i.stat }

func TestOtherOwners(t *testing.T) {
	for _, tc := range []struct {
		check func(string, fs.FileInfo, int) error
		info  fakeInfo
		why   string
	}{
		{checkFolder, fakeInfo{fs.ModeDir | 0o700, syscall.Stat_t{Uid: 7, Nlink: 2}}, "uid 7"},
		{checkFolder, fakeInfo{fs.ModeDir | 0o700, syscall.Stat_t{Uid: 5, Nlink: 2}}, ""},
		{checkFile, fakeInfo{0o600, syscall.Stat_t{Uid: 7, Nlink: 1}}, "uid 7"},
		{checkFile, fakeInfo{0o600, syscall.Stat_t{Uid: 5, Nlink: 1}}, ""},
		{checkFile, fakeInfo{0o600, syscall.Stat_t{Uid: 5, Nlink: 0}}, "0 hard links"},
	} {
		err := tc.check("/x", tc.info, 5)
		if tc.why != "" {
			wantUnsafe(t, err, tc.why)
		} else if err != nil {
			t.Errorf("our own: %v", err)
		}
	}
}
