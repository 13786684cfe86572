// Package badflush gives tests a disk whose flushes fail.
//
// It guarantees that the kernel answers fsync(2) and fdatasync(2) with EIO, whoever
// calls them: this project's code, SQLite's or another program's. Its limit: what
// was written before stays readable, as it does on a real disk until the machine
// goes down, and only Linux can do it; elsewhere a test that asks for it fails.
package badflush

import (
	"runtime"
	"testing"
)

// Kind is which flushes fail.
type Kind int

const (
	Any  Kind = iota
	Sync      // fsync(2): SQLite's, and those of folders and new files
	Data      // fdatasync(2): the log's
)

// During runs f on a thread of its own in which every flush fails. What f has done
// by other goroutines flushes as usual.
func During(t testing.TB, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := install(Any, 0)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("making flushes fail: %v; run the tests on Linux", err)
	}
}

// Forever makes flushes of this process fail from now on, and of the programs that
// it starts or becomes.
func Forever(kind Kind) error { return install(kind, wholeProcess) }
