package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrLocked is wrapped by Lock when the time is up.
var ErrLocked = errors.New("another process holds the lock")

const (
	firstWait = 100 * time.Microsecond
	longWait  = 10 * time.Millisecond
)

// Lock is an exclusive lock between processes, and between two calls of Lock
// in one process. The kernel frees it when its holder ends, however it ends.
type Lock struct{ file *os.File }

// Lock takes the lock of this name and waits for it no longer than timeout,
// nor than ctx lasts. The lock is advisory (flock(2)); its file stays.
func (f *Folder) Lock(ctx context.Context, name string, timeout time.Duration) (*Lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrLocked)
	defer cancel()
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		lock, err := f.tryLock(name)
		if lock != nil || err != nil {
			return lock, err
		}
		// flock has no deadline and a blocked one cannot be called off, so it is
		// tried again and again.
		select {
		case <-ctx.Done():
			return nil, f.lockError(context.Cause(ctx), name, timeout)
		case <-time.After(wait):
		}
	}
}

func (f *Folder) lockError(cause error, name string, timeout time.Duration) error {
	if !errors.Is(cause, ErrLocked) {
		return fmt.Errorf("waiting for %s: %w", f.join(name), cause)
	}
	return fmt.Errorf("waited %s for %s: %w; if that process is stopped or hangs, let it go on or end it (fuser %s names it)",
		timeout, f.join(name), ErrLocked, f.join(name))
}

// tryLock returns nil, nil while somebody else holds the lock.
func (f *Folder) tryLock(name string) (*Lock, error) {
	file, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && f.names(name, file) {
		return &Lock{file}, nil
	}
	file.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, fmt.Errorf("locking %s: %w", f.join(name), err)
}

// Locked reports whether somebody holds the lock of this name. It makes no file.
// Two who ask at once do not take each other for a holder; for that moment the
// lock cannot be had.
func (f *Folder) Locked(name string) (bool, error) {
	file, err := f.OpenFile(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	for {
		switch err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
		case err == nil:
			return false, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return true, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("asking for the lock of %s: %w", f.join(name), err)
		}
	}
}

// names says whether the name still leads to the file: a lock on one that was
// removed or replaced meanwhile would keep nobody out.
func (f *Folder) names(name string, file *os.File) bool {
	byName, err := f.root.Lstat(name)
	if err != nil {
		return false
	}
	opened, err := file.Stat()
	return err == nil && os.SameFile(byName, opened)
}

// Unlock frees the lock. It is called once.
func (l *Lock) Unlock() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("unlocking %s: %w", l.file.Name(), err)
	}
	return nil
}
