// Package smalldisk gives tests a disk that can be filled.
//
// It guarantees that a full disk is really full: the next page that is written
// gets ENOSPC from the kernel. Its limit: it mounts a tmpfs, so it needs Linux
// and root, and a test that cannot have it fails.
package smalldisk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Page is the unit in which a disk gives room, in bytes.
const Page = 4096

// Mount makes a disk of some pages and returns its folder, of mode 0700. It is
// gone with the test.
func Mount(t testing.TB, pages int) string {
	t.Helper()
	return Over(t, t.TempDir(), pages)
}

// Over mounts the disk over an existing folder.
func Over(t testing.TB, dir string, pages int) string {
	t.Helper()
	if err := mount(dir, pages); err != nil {
		t.Fatalf("mounting a small disk: %v; this test mounts a tmpfs, so run the tests on Linux as root", err)
	}
	t.Cleanup(func() { unmount(dir) })
	return dir
}

// Fill takes all room of a disk but for some pages, until free is called.
func Fill(t testing.TB, dir string, leave int) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, n := 0, 0
	for err == nil {
		n, err = f.Write(make([]byte, 64*Page))
		size += n
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(max(0, size-leave*Page))); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}
