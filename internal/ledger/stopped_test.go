package ledger

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// childStands is an executor that stands still when it is told to: inside the
// transaction of its first intent, and before its second one.
func childStands(dir string) error {
	state, err := durable.Open(dir)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	stand := func(where string) { fmt.Println(where); in.Scan() }
	inside := false
	l, err := Open(ctx, state, func() time.Time {
		if inside {
			inside = false
			stand("inside")
		}
		return start
	})
	if err != nil {
		return err
	}
	defer l.Close()
	fence, err := l.Start(ctx, "r-1", "x-child", time.Minute, false)
	if err != nil {
		return err
	}
	for n := range 2 {
		if _, err := l.Reserve(ctx, "r-1", fence, physical, 0, 1); err != nil {
			fmt.Println(told(err, "r-1"))
			return nil
		}
		inside = n == 0
		fmt.Println(told(l.Intend(ctx, "r-1", "x-child", fence, fmt.Sprint("t-child", n), []int{n}), "r-1"))
		stand("outside")
	}
	return nil
}

func (r *rival) hear(t *testing.T, want string) {
	t.Helper()
	if !r.out.Scan() || !strings.Contains(r.out.Text(), want) {
		t.Fatalf("the other process says %q, want %q", r.out.Text(), want)
	}
}

// A process that is stopped in the middle of a transaction keeps the ledger
// locked. Everybody else is told so within the bound, however many they are;
// looking goes on; and nothing is half done. When it goes on and another has
// taken its plan over, it intends nothing any more.
func TestStoppedProcess(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	const wait = 100 * time.Millisecond
	l, err := open(t.Context(), state, clock.Now, wait)
	must(t, err)
	defer l.Close()
	create(t, l, request("r-1", approved), letters("a", "b", "c"))
	create(t, l, request("r-2"), letters("d"))
	other := newRival(t, state, "stands")
	other.hear(t, "inside")
	must(t, other.cmd.Process.Signal(syscall.SIGSTOP))

	before, began := dump(t, l, "r-"), time.Now()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			_, err := l.Cancel(t.Context(), "r-2", "w")
			if i%2 == 0 {
				err = l.Create(t.Context(), request(fmt.Sprint("r-new", i)), nil, Caps{})
			}
			wantIs(t, "a call", err, durable.ErrLocked)
			if err != nil && !strings.Contains(err.Error(), "fuser "+state.Path()+"/ledger.db") {
				t.Errorf("it does not say what to do: %v", err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took > 20*wait {
		t.Errorf("sixteen calls took %v", took)
	}
	fresh, err := open(t.Context(), state, clock.Now, wait)
	must(t, err)
	defer fresh.Close()
	if pending, err := fresh.Find(t.Context(), Pending); len(pending) != 1 || err != nil {
		t.Errorf("who opens the ledger sees %v, %v", pending, err)
	}
	_, err = fresh.Expire(t.Context())
	must(t, err) // nothing is due
	if after := dump(t, l, "r-"); after != before {
		t.Errorf("it changed\n%sto\n%s", before, after)
	}

	must(t, other.cmd.Process.Signal(syscall.SIGCONT))
	fmt.Fprintln(other.in)
	other.hear(t, "done") // its transaction was whole
	other.hear(t, "outside")
	must(t, other.cmd.Process.Signal(syscall.SIGSTOP))
	clock.add(time.Minute)
	_, err = l.Start(t.Context(), "r-1", "x-2", time.Minute, false)
	must(t, err)
	must(t, record(t, l, "r-1", outcomes(backends.Claimed, 0)))
	before = dump(t, l, "r-")
	must(t, other.cmd.Process.Signal(syscall.SIGCONT))
	fmt.Fprintln(other.in)
	other.hear(t, "another executor has taken P over")
	if after := dump(t, l, "r-"); after != before {
		t.Errorf("the fenced off one changed\n%sto\n%s", before, after)
	}
}
