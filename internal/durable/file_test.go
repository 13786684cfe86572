package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestRefusedFiles(t *testing.T) {
	for _, tc := range []struct {
		name, why string
		make      func(path string) error
	}{
		{"link", "symbolic link", func(p string) error { return os.Symlink("target", p) }},
		{"dangling", "symbolic link", func(p string) error { return os.Symlink("nowhere", p) }},
		{"hard link", "2 hard links", func(p string) error { return os.Link(filepath.Join(filepath.Dir(p), "target"), p) }},
		{"fifo", "not a regular file", func(p string) error { return syscall.Mkfifo(p, 0o600) }},
		{"folder", "not a regular file", func(p string) error { return os.Mkdir(p, 0o700) }},
		{"readable by others", "mode is 0644", func(p string) error { return chmodded(p, 0o644) }},
		{"writable by the group", "mode is 0620", func(p string) error { return chmodded(p, 0o620) }},
		{"executable", "mode is 0700", func(p string) error { return chmodded(p, 0o700) }},
		{"set-uid", "wider than 0600", func(p string) error { return chmodded(p, 0o600|fs.ModeSetuid) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := testFolder(t)
			if err := f.WriteNew("target", []byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := tc.make(filepath.Join(f.Path(), "x")); err != nil {
				t.Fatal(err)
			}
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_CREATE | os.O_EXCL} {
				_, err := f.OpenFile("x", flag)
				wantUnsafe(t, err, tc.why)
			}
			_, err := f.Read("x", 10)
			wantUnsafe(t, err, tc.why)
			_, err = f.CheckedPath("x")
			wantUnsafe(t, err, tc.why)
			wantUnsafe(t, f.WriteNew("x", []byte("x")), tc.why)
			wantUnsafe(t, f.Overwrite("x", []byte("x")), tc.why)
			_, err = f.Lock(t.Context(), "x", time.Second)
			wantUnsafe(t, err, tc.why)
			_, err = f.Locked("x")
			wantUnsafe(t, err, tc.why)
		})
	}
}

func chmodded(path string, mode fs.FileMode) error {
	return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode))
}

func TestOpenFile(t *testing.T) {
	f := testFolder(t)
	if _, err := f.OpenFile("x", os.O_RDWR); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if path, err := f.CheckedPath("x"); err != nil || path != filepath.Join(f.Path(), "x") {
		t.Errorf("CheckedPath of a missing file: %s %v", path, err)
	}
	file, err := f.OpenFile("x", os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := f.OpenFile("x", os.O_RDWR|os.O_CREATE|os.O_EXCL); !errors.Is(err, fs.ErrExist) {
		t.Errorf("O_EXCL on an existing file: %v", err)
	}
	_, err = f.OpenFile("../x", os.O_RDONLY)
	wantUnsafe(t, err, "plain file name")
	if _, err := file.WriteString("abcdef"); err != nil {
		t.Fatal(err)
	}
	if err := Truncate(file, 3); err != nil {
		t.Fatal(err)
	}
	if data, err := f.Read("x", 3); string(data) != "abc" || err != nil {
		t.Errorf("read %q %v", data, err)
	}
	if _, err := f.Read("x", 2); err == nil {
		t.Error("a file longer than the limit was read")
	}
}

func TestDataSyncReportsFailure(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := DataSync(file); err != nil {
		t.Error(err)
	}
	file.Close()
	if err := DataSync(file); err == nil {
		t.Error("flushing a closed file succeeded")
	}
}

func TestWriteNew(t *testing.T) {
	f := testFolder(t)
	for range 2 {
		if err := f.WriteNew("x", []byte("one")); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"", "on", "two", "one more"} {
		if err := f.WriteNew("x", []byte(other)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("WriteNew of %q: %v", other, err)
		}
	}
	if data, err := f.Read("x", 10); string(data) != "one" || err != nil {
		t.Errorf("read %q %v", data, err)
	}
	wantNames(t, f, "[x]")
}

// Of many writers of one name with different bytes exactly one wins, and what
// is there is whole.
func TestWriteNewRace(t *testing.T) {
	f := testFolder(t)
	var wg sync.WaitGroup
	won := make(chan string, 20)
	for i := range 20 {
		wg.Go(func() {
			data := strings.Repeat(fmt.Sprint(i%10), 10_000)
			switch err := f.WriteNew("x", []byte(data)); {
			case err == nil:
				won <- data
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(won)
	got, err := f.Read("x", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	winners := 0
	for data := range won {
		winners++
		if data != string(got) {
			t.Error("a writer was told that other bytes are there")
		}
	}
	if winners == 0 {
		t.Error("nobody wrote")
	}
	wantNames(t, f, "[x]")
}

func TestOverwriteAndRemove(t *testing.T) {
	f := testFolder(t)
	for _, data := range []string{"one", "", "three"} {
		if err := f.Overwrite("x", []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read("x", 10); string(got) != data || err != nil {
			t.Errorf("read %q %v, want %q", got, err, data)
		}
	}
	wantNames(t, f, "[x]")
	for range 2 {
		if err := f.Remove("x", "y"); err != nil {
			t.Error(err)
		}
	}
	wantNames(t, f, "[]")
	wantUnsafe(t, f.Remove("../x"), "plain file name")
}

func TestWritersSweepOldTemporaryFiles(t *testing.T) {
	f := testFolder(t)
	old, young := tempPrefix+"old", tempPrefix+"young"
	for _, name := range []string{old, young} {
		if err := os.WriteFile(filepath.Join(f.Path(), name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * tempAge)
	if err := os.Chtimes(filepath.Join(f.Path(), old), long, long); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteNew("x", nil); err != nil {
		t.Fatal(err)
	}
	wantNames(t, f, "["+young+" x]")
}

func wantNames(t *testing.T, f *Folder, want string) {
	t.Helper()
	if names, err := f.Names(); fmt.Sprint(names) != want || err != nil {
		t.Errorf("names %v %v, want %s", names, err, want)
	}
}

func TestLock(t *testing.T) {
	f := testFolder(t)
	wantLocked := func(what string, want bool) {
		t.Helper()
		if got, err := f.Locked("lock"); got != want || err != nil {
			t.Errorf("%s: locked is %v, %v", what, got, err)
		}
	}
	wantLocked("before", false)
	wantNames(t, f, "[]")
	lock, err := f.Lock(t.Context(), "lock", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Lock(t.Context(), "lock", 5*time.Millisecond); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "fuser "+filepath.Join(f.Path(), "lock")) {
		t.Errorf("a held lock: %v", err)
	}
	wantLocked("held", true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Lock(ctx, "lock", time.Hour); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLocked) {
		t.Errorf("a cancelled wait: %v", err)
	}
	waiting := make(chan error)
	go func() {
		again, err := f.Lock(t.Context(), "lock", time.Hour)
		if err == nil {
			err = again.Unlock()
		}
		waiting <- err
	}()
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("after Unlock: %v", err)
	}
	wantLocked("after", false)
	// Many who ask at once do not take each other for a holder.
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range 100 {
				wantLocked("free", false)
			}
		})
	}
	asking.Wait()
}

// A lock on a file that was removed would keep nobody out: it is not taken for
// the lock.
func TestLockFileRemoved(t *testing.T) {
	f := testFolder(t)
	file, err := f.OpenFile("lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if !f.names("lock", file) {
		t.Error("the name leads to the file")
	}
	if err := f.Overwrite("lock", nil); err != nil {
		t.Fatal(err)
	}
	if f.names("lock", file) {
		t.Error("the name leads to another file")
	}
	if err := f.Remove("lock"); err != nil {
		t.Fatal(err)
	}
	if f.names("lock", file) {
		t.Error("the name leads nowhere")
	}
}
