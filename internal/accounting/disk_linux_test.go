package accounting

import (
	"os"
	"syscall"
	"testing"
)

// smallDisk mounts a small file system at a new folder.
func smallDisk(t testing.TB, dir string) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=48m,mode=0700"); err != nil {
		t.Fatalf("mounting a small disk: %v; this test mounts a tmpfs, so run the tests as root", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}
