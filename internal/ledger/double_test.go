package ledger

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
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

// doubles are the facts that two callers find: every state of a plan with what a
// run leaves behind in its middle and at its end, and with its time up.
func doubles() (all []fact) {
	for _, s := range planStates {
		for _, items := range [][4]backends.State{midway, atEnd, settled} {
			all = append(all, fact{state: s, items: items})
		}
	}
	for _, s := range []State{Pending, Approved} {
		all = append(all, fact{state: s, items: atEnd, due: true})
	}
	return all
}

// Two processes do any two calls at the same moment, the same ones or others. It
// comes out as if one had been after the other: what each is told, and all that
// the ledger holds then. Where both are refused alone, they are not tried: a
// refusal changes nothing (TestCallsInEveryState).
func TestTwoCallersAtOnce(t *testing.T) {
	seen, n := map[string]int{}, rand.IntN(oneIn) // which part is tried changes from run to run
	for _, f := range doubles() {
		state := memoryState(t)
		l := openIn(t, state, (&frozen{now: start}).Now)
		other := newRival(t, state, "calls")
		for a := range calls {
			var pairs []pair
			for b := a; b < len(calls); b++ {
				if n++; n%oneIn == 0 && (f.allows(a) || f.allows(b)) {
					pairs = append(pairs, pair{a, b})
				}
			}
			f.races(t, l, other, pairs, seen)
		}
	}
	if seen["the first wins"] < 40/oneIn || seen["the second wins"] < 40/oneIn {
		t.Errorf("the two hardly meet: %v", seen)
	}
	t.Logf("where the order matters: %v", seen)
}

// pair are the numbers of two calls.
type pair struct{ a, b int }

// plans are the three plans of a pair: one for both callers at once, one for each
// order.
func (p pair) plans() (race, ab, ba string) {
	id := fmt.Sprintf("r%d.%d-", p.a, p.b)
	return id, "ab" + id, "ba" + id
}

// races tries pairs, all of them on plans that are made at once. Where plans are
// due, any call may end them all, so then each is made when it is needed.
func (f fact) races(t *testing.T, l *Ledger, other *rival, pairs []pair, seen map[string]int) {
	t.Helper()
	var ids []string
	for _, p := range pairs {
		race, ab, ba := p.plans()
		ids = append(ids, race, ab, ba)
	}
	if len(ids) > 0 && !f.due {
		f.putAll(t, l, ids...)
	}
	for _, p := range pairs {
		f.race(t, l, other, p, seen)
	}
	wipe(t, l)
}

// race lets the rival do call b while we do call a, and compares with both
// orders.
func (f fact) race(t *testing.T, l *Ledger, other *rival, p pair, seen map[string]int) {
	t.Helper()
	race, abPlan, baPlan := p.plans()
	put := func(id string) {
		if f.due {
			f.put(t, l, id)
		}
	}
	put(race)
	fmt.Fprintln(other.in, p.b, race)
	first := told(calls[p.a].do(l, race, "A"), race)
	if !other.out.Scan() {
		t.Fatal("the other process is gone")
	}
	got := first + " | " + other.out.Text() + "\n" + dump(t, l, race)
	one := func(id string, aFirst bool) string {
		put(id)
		by := map[bool]string{}
		for _, isA := range []bool{aFirst, !aFirst} {
			c, who := p.a, "A"
			if !isA {
				c, who = p.b, "B"
			}
			by[isA] = told(calls[c].do(l, id, who), id)
		}
		return by[true] + " | " + by[false] + "\n" + dump(t, l, id)
	}
	ab, ba := one(abPlan, true), one(baPlan, false)
	switch {
	case got != ab && got != ba:
		t.Errorf("%s and %s of %v:\n%s\none after the other:\n%s\nor:\n%s", calls[p.a].name, calls[p.b].name, f, got, ab, ba)
	case ab == ba:
	case got == ab:
		seen["the first wins"]++
	default:
		seen["the second wins"]++
	}
}
