package badflush

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const wholeProcess = unix.SECCOMP_FILTER_FLAG_TSYNC

// install asks the kernel to answer flushes itself: a filter of seccomp(2), which
// nothing can take away again.
func install(kind Kind, flags uintptr) error {
	const set = unix.SECCOMP_SET_MODE_FILTER
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for call, k := range map[uint32]Kind{unix.SYS_FSYNC: Sync, unix.SYS_FDATASYNC: Data} {
		if kind == k || kind == Any {
			filter = append(filter,
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call}, // over the next line, unless it is this call
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)})
		}
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
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
