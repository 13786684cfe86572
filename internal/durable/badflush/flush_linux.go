package badflush

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const wholeProcess = unix.SECCOMP_FILTER_FLAG_TSYNC

// install asks the kernel to answer flushes itself: a filter of seccomp(2), which
// nothing can take away again.
func install(flags uintptr) error {
	const set = unix.SECCOMP_SET_MODE_FILTER
	jump := func(call uint32) unix.SockFilter { // over the next one, unless it is this call
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call}
	}
	fail := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		jump(unix.SYS_FSYNC), fail,
		jump(unix.SYS_FDATASYNC), fail,
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	// Without it only root may set a filter.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, set, flags, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
