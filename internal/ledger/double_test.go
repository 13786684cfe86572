package ledger

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// rival is another process with the same ledger.
type rival struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func newRival(t *testing.T, state *durable.Folder, does string) *rival {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+state.Path(), "LEDGER_TEST_NAME="+does)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Signal(syscall.SIGCONT)
		must(t, cmd.Wait())
	})
	return &rival{cmd, in, bufio.NewScanner(out)}
}

// childCalls is a rival that does one call after the other.
func childCalls(dir string) error {
	state, err := durable.Open(dir)
	if err != nil {
		return err
	}
	l, err := Open(ctx, state, (&frozen{now: start}).Now)
	if err != nil {
		return err
	}
	defer l.Close()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var n int
		var id string
		if _, err := fmt.Sscan(in.Text(), &n, &id); err != nil {
			return err
		}
		fmt.Println(told(calls[n].do(l, id, "B"), id))
	}
	return nil
}

// told is an error as both processes tell it.
func told(err error, id string) string {
	if err == nil {
		return "done"
	}
	return strings.ReplaceAll(fmt.Sprintf("%v", err), id, "P")
}

// doubles are the facts that two callers find.
func doubles() (facts []fact) {
	// To a caller one end of a plan is like another, but for unknown.
	for _, s := range []State{Pending, Approved, Running, Stopping, Unknown, Halted} {
		facts = append(facts, fact{state: s, items: midway})
	}
	for _, s := range []State{Running, Stopping, Unknown} {
		facts = append(facts, fact{state: s, items: atEnd}, fact{state: s, items: settled})
	}
	for _, s := range []State{Pending, Approved} {
		facts = append(facts, fact{state: s, items: atEnd, due: true})
	}
	return facts
}

// Two processes do any two calls at the same moment, the same ones or others. It
// comes out as if one had been after the other: what each is told, and all that
// the ledger holds then.
func TestTwoCallersAtOnce(t *testing.T) {
	seen, n := map[string]int{}, 0
	for _, f := range doubles() {
		state := memoryState(t)
		l := openIn(t, state, (&frozen{now: start}).Now)
		other := newRival(t, state, "calls")
		for a := range calls {
			for b := a; b < len(calls); b++ {
				if n++; n%oneIn == 0 && (f.allows(a) || f.allows(b)) {
					f.race(t, l, other, a, b, seen)
				}
			}
		}
	}
	if seen["the first wins"] < 20/oneIn || seen["the second wins"] < 20/oneIn {
		t.Errorf("the two hardly meet: %v", seen)
	}
	t.Logf("where the order matters: %v", seen)
}

// allows reports whether a call may be no error.
func (f fact) allows(c int) bool {
	ends := calls[c].name == "finish" && (f.state == Running || f.state == Stopping)
	return ends || slices.Contains(calls[c].in, f.state)
}

// race lets the rival do call b while we do call a, and compares with both
// orders.
func (f fact) race(t *testing.T, l *Ledger, other *rival, a, b int, seen map[string]int) {
	t.Helper()
	id := fmt.Sprintf("r%d.%d-", a, b)
	f.put(t, l, id)
	fmt.Fprintln(other.in, b, id)
	first := told(calls[a].do(l, id, "A"), id)
	if !other.out.Scan() {
		t.Fatal("the other process is gone")
	}
	got := first + " | " + other.out.Text() + "\n" + dump(t, l, id)
	one := func(id string, aFirst bool) string {
		f.put(t, l, id)
		by := map[bool]string{}
		for _, isA := range []bool{aFirst, !aFirst} {
			c, who := a, "A"
			if !isA {
				c, who = b, "B"
			}
			by[isA] = told(calls[c].do(l, id, who), id)
		}
		return by[true] + " | " + by[false] + "\n" + dump(t, l, id)
	}
	ab, ba := one(id+"ab", true), one(id+"ba", false)
	switch {
	case got != ab && got != ba:
		t.Errorf("%s and %s of a plan that is %s:\n%s\none after the other:\n%s\nor:\n%s", calls[a].name, calls[b].name, f.state, got, ab, ba)
	case ab == ba:
	case got == ab:
		seen["the first wins"]++
	default:
		seen["the second wins"]++
	}
}
