package smalldisk

import (
	"fmt"
	"syscall"
)

func mount(dir string, pages int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", pages*Page))
}

func unmount(dir string) { syscall.Unmount(dir, syscall.MNT_DETACH) }
