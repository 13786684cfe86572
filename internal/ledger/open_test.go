package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

func TestOpen(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	l, err := Open(t.Context(), state, clock.Now)
	must(t, err)
	create(t, l, request("r-1"), letters("a"))
	must(t, l.SetHead(t.Context(), Head{Log: "l", Seq: 9, Hash: "h9"}))
	must(t, l.SetHead(t.Context(), Head{Log: "l", Seq: 10, Hash: "h10"}))
	must(t, l.SetHead(t.Context(), Head{Log: "l", Seq: 9, Hash: "older"}))
	secret, err := l.Secret(t.Context())
	must(t, err)
	for _, name := range []string{FileName, FileName + "-wal", FileName + "-shm"} {
		info, err := os.Stat(filepath.Join(state.Path(), name))
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	must(t, l.Close())
	l, err = Open(t.Context(), state, clock.Now)
	must(t, err)
	defer l.Close()
	wantState(t, l, "r-1", Pending)
	if h, err := l.Head(t.Context()); h != (Head{Log: "l", Seq: 10, Hash: "h10"}) || err != nil {
		t.Errorf("head %+v, %v", h, err)
	}
	if again, err := l.Secret(t.Context()); string(again) != string(secret) || len(secret) != 32 || err != nil {
		t.Errorf("secret of %d bytes, the same: %v, %v", len(secret), string(again) == string(secret), err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	l, err := Open(t.Context(), state, clock.Now)
	must(t, err)
	exec1(t, l, fmt.Sprint("PRAGMA user_version = ", schemaVersion+1))
	must(t, l.Close())
	_, err = Open(t.Context(), state, clock.Now)
	wantIs(t, "a newer schema", err, ErrNewer)
}

func exec1(t *testing.T, l *Ledger, query string) {
	t.Helper()
	_, err := l.write.ExecContext(t.Context(), query)
	must(t, err)
}

func TestUnsafeFilesAreRefused(t *testing.T) {
	makes := map[string]func(path string) error{
		"symbolic link": func(path string) error {
			if err := os.WriteFile(path+".there", nil, 0o600); err != nil {
				return err
			}
			return os.Symlink(path+".there", path)
		},
		"dangling link": func(path string) error { return os.Symlink(path+".none", path) },
		"pipe":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"readable":      func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)) },
		"second name": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Link(path, path+".other"))
		},
	}
	for name, makeIt := range makes {
		for _, file := range []string{FileName, FileName + "-wal", FileName + "-shm"} {
			t.Run(name+" "+file, func(t *testing.T) {
				state := newState(t)
				must(t, makeIt(filepath.Join(state.Path(), file)))
				l, err := Open(t.Context(), state, time.Now)
				if err == nil {
					l.Close()
				}
				wantAs[*durable.Unsafe](t, name, err)
			})
		}
	}
}

func TestClockThatGoesBack(t *testing.T) {
	l, clock := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a", "b"))
	create(t, l, request("r-2", approved), letters("c"))
	create(t, l, request("r-3"), letters("d"))
	intend(t, l, "r-1", fence, "t-1", 0)

	clock.add(-MaxClockLag)
	if now, err := l.Now(); !now.Equal(start) || err != nil {
		t.Errorf("two minutes back: %v, %v", now, err)
	}
	_, err := l.Start(t.Context(), "r-1", "x-1", time.Minute, true)
	must(t, err)
	fence++

	clock.add(-time.Microsecond)
	now, err := l.Now()
	if lag := wantAs[*ClockError](t, "now", err); !now.Equal(start) || lag == nil || !lag.Last.Equal(start) {
		t.Errorf("the ledger's time is %v, %v", now, err)
	}
	_, err = l.Start(t.Context(), "r-2", "x", time.Minute, false)
	wantAs[*ClockError](t, "start", err)
	wantAs[*ClockError](t, "intend", l.Intend(t.Context(), "r-1", "x", fence, "t-2", []int{1}))
	_, err = l.Reserve(t.Context(), "r-1", fence, physical, 0, 1)
	wantAs[*ClockError](t, "reserve", err)
	wantAs[*ClockError](t, "create", l.Create(t.Context(), request("r-4"), letters("e"), Caps{}))

	must(t, record(t, l, "r-1", outcomes(backends.Done, 0)))
	if _, err := l.Count(t.Context(), "r-1"); err != nil {
		t.Error(err)
	}
	for id, want := range map[string]State{"r-1": Stopping, "r-2": Cancelled, "r-3": Cancelled} {
		if got, err := l.Cancel(t.Context(), id, "clock"); got != want || err != nil {
			t.Errorf("cancelling %s: %s, %v", id, got, err)
		}
	}
	if p, _ := l.Get(t.Context(), "r-2"); !p.Ended.Equal(start) {
		t.Errorf("ended at %v: time went back", p.Ended)
	}
	clock.add(time.Hour)
	if now, err := l.Now(); !now.Equal(clock.Now()) || err != nil {
		t.Errorf("later: %v, %v", now, err)
	}
}

func TestEndedContext(t *testing.T) {
	l, _ := newLedger(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, "before it begins", l.Create(ctx, request("r-1"), letters("a"), Caps{}), context.Canceled)
	// Once begun, a write is finished whatever becomes of its caller.
	ctx, cancel = context.WithCancel(t.Context())
	l.clock = func() time.Time { cancel(); return start }
	must(t, l.Create(ctx, request("r-1"), letters("a"), Caps{}))
	wantState(t, l, "r-1", Pending)
}

// writeMuch is what the second process does: it claims letters, sends some, and
// races for one that all want.
func writeMuch(dir, name string) error {
	state, err := durable.Open(dir)
	if err != nil {
		return err
	}
	l, err := Open(ctx, state, func() time.Time { return start })
	if err != nil {
		return err
	}
	defer l.Close()
	for i := range 20 {
		id := fmt.Sprint("r-", name, i)
		if err := l.Create(ctx, request(id, approved), numbered(id, 3), Caps{}); err != nil {
			return err
		}
		fence, err := l.Start(ctx, id, "x", time.Minute, false)
		if err != nil {
			return err
		}
		if _, err := l.Reserve(ctx, id, fence, physical, 0, 3); err != nil {
			return err
		}
		if err := l.Intend(ctx, id, "x", fence, "t-"+id, upTo(3)); err != nil {
			return err
		}
		if _, err := l.Record(ctx, id, "x", fence, outcomes(backends.Done, upTo(3)...)); err != nil {
			return err
		}
		if _, err := l.Finish(ctx, id, fence, false, ""); err != nil {
			return err
		}
	}
	var claimed *ClaimedError
	if err := l.Create(ctx, request("r-both-"+name), letters("wanted"), Caps{}); err != nil && !errors.As(err, &claimed) {
		return err
	}
	return nil
}

func TestTwoProcesses(t *testing.T) {
	state := newState(t)
	var children []*exec.Cmd
	for _, name := range []string{"A", "B"} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+state.Path(), "LEDGER_TEST_NAME="+name)
		c.Stderr = os.Stderr
		must(t, c.Start())
		children = append(children, c)
	}
	for _, c := range children {
		must(t, c.Wait())
	}
	l := openIn(t, state, func() time.Time { return start })
	var done int
	must(t, l.read.QueryRow(`SELECT count(*) FROM plans WHERE state = 'done'`).Scan(&done))
	pending, err := l.Find(t.Context(), Pending)
	must(t, err)
	if done != 40 || len(pending) != 1 {
		t.Errorf("%d plans done, %d claim the letter that both want", done, len(pending))
	}
	wantUsed(t, l, physical, 120)
}
