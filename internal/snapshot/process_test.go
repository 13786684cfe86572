package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// child is the second process. It says "looking" when it looks and "put N" after
// each batch. Told to "look" it goes on until it is killed; told a place it looks
// there and ends.
func child(dir, does string) error {
	ctx := context.Background()
	state, err := durable.Open(dir)
	if err != nil {
		return err
	}
	d, err := Open(ctx, state, time.Now, month)
	if err != nil {
		return err
	}
	defer d.Close()
	at, batches := place, 1<<30
	if does != "look" {
		at, batches = does, 20
	}
	p, err := d.Begin(ctx, at)
	if err != nil {
		return err
	}
	fmt.Println("looking")
	for i := range batches {
		if err := p.Put(ctx, batch(i, 200)...); err != nil {
			return err
		}
		fmt.Println("put", i)
	}
	return errors.Join(p.End(ctx, true), p.Close())
}

// batch makes different letters for each number.
func batch(i, n int) (letters []backends.Snapshot) {
	for j := range n {
		letters = append(letters, seen(fmt.Sprintf("%06d-%04d", i, j), int64(i)))
	}
	return letters
}

func command(state *durable.Folder, does string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "SNAPSHOT_TEST_CHILD="+state.Path(), "SNAPSHOT_TEST_DOES="+does)
	c.Stderr = os.Stderr
	return c
}

func waitFor(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), want) {
			return
		}
	}
	t.Fatalf("the other process ended before it said %q", want)
}

// A process that is killed in the middle of a look, at any moment of a Put, has
// put all letters of each batch that it was answered for, and of none a part. Its
// look is over at once, and the next goes on.
func TestKilled(t *testing.T) {
	state := newState(t)
	d := openIn(t, state, time.Now)
	for round := range 8 {
		c := command(state, "look")
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		lines := bufio.NewScanner(out)
		waitFor(t, lines, "looking")
		if l, err := d.Look(t.Context(), place); err != nil || !l.Running {
			t.Errorf("%+v, %v", l, err)
		}
		if _, err := d.Begin(t.Context(), place); !errors.Is(err, backends.ErrLooking) {
			t.Errorf("meanwhile: %v", err)
		}
		waitFor(t, lines, fmt.Sprint("put ", 2+round))
		must(t, c.Process.Kill())
		said := 2 + round
		for lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "put %d", &said); err != nil {
				t.Error(lines.Text())
			}
		}
		c.Wait()
		l, err := d.Look(t.Context(), place)
		if err != nil || l.Running || !l.AsOf.IsZero() || l.Seen%200 != 0 || l.Seen < 200*(said+1) || l.Seen > 200*(said+2) {
			t.Errorf("after %d batches: %+v, %v", said+1, l, err)
		}
		all := list(t, d, place, backends.SnapshotQuery{Bodies: true})
		if len(all) < l.Seen || len(all)%200 != 0 {
			t.Errorf("%d letters are listed, the look saw %d", len(all), l.Seen)
		}
	}
	looked(t, d, place, true, seen("last", 1))
	wantIDs(t, "in the end", list(t, d, place, backends.SnapshotQuery{}), "last(1) ")
	if n := count(t, d, `SELECT count(*) FROM letters WHERE key NOT IN (SELECT key FROM bodies)`); n > 0 {
		t.Errorf("%d letters have no body", n)
	}
}

// Many who open a folder at once make one file, and all of them can use it.
func TestMadeByMany(t *testing.T) {
	for range 20 {
		state := newState(t)
		var all sync.WaitGroup
		together := make(chan struct{})
		for i := range 16 {
			all.Go(func() {
				<-together
				d, err := Open(t.Context(), state, time.Now, month)
				if err != nil {
					t.Error(err)
					return
				}
				defer d.Close()
				if err := d.Received(t.Context(), place, fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			})
		}
		close(together)
		all.Wait()
		if n := count(t, openIn(t, state, time.Now), `SELECT count(*) FROM letters`); n != 16 {
			t.Errorf("%d of 16 could write", n)
		}
	}
}

// Several processes make the file, and look at places of their own, at once.
func TestProcesses(t *testing.T) {
	state := newState(t)
	var all []*exec.Cmd
	for i := range 4 {
		all = append(all, command(state, fmt.Sprint("place ", i)))
		must(t, all[i].Start())
	}
	for _, c := range all {
		must(t, c.Wait())
	}
	d := openIn(t, state, time.Now)
	for i := range all {
		at := fmt.Sprint("place ", i)
		l, err := d.Look(t.Context(), at)
		if n := len(list(t, d, at, backends.SnapshotQuery{})); n != 4000 || l.Seen != 4000 || l.Running || err != nil {
			t.Errorf("%s: %d letters, %+v, %v", at, n, l, err)
		}
	}
}

// Sixteen callers at once: of those who begin a look one may, what is read is in
// order and whole, and no count is lost.
func TestGoroutines(t *testing.T) {
	state := newState(t)
	dbs := []*DB{openIn(t, state, time.Now), openIn(t, state, time.Now)}
	must(t, errors.Join(dbs[0].Received(t.Context(), place, "hot")))
	var wg sync.WaitGroup
	var mu sync.Mutex
	looks, hot := 0, 1
	for i := range 16 {
		d := dbs[i%2]
		wg.Go(func() {
			for j := range 12 {
				switch (i + j) % 4 {
				case 0, 1:
					p, err := d.Begin(t.Context(), place)
					if errors.Is(err, backends.ErrLooking) {
						continue
					}
					if err == nil {
						err = errors.Join(p.Put(t.Context(), batch(j%3, 50)...), p.Put(t.Context(), seen("hot", 99)), p.End(t.Context(), true), p.Close())
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					looks, hot = looks+1, hot+1
					mu.Unlock()
				case 2:
					if err := d.Received(t.Context(), place, "hot"); err != nil {
						t.Error(err)
					}
					mu.Lock()
					hot++
					mu.Unlock()
				case 3:
					at := positionOf(backends.SnapshotQuery{})
					for s, err := range d.Letters(t.Context(), place, backends.SnapshotQuery{Bodies: true}) {
						if err != nil {
							t.Error(err)
							return
						}
						next := position{^s.Order, []byte(s.ID)}
						if order(at, next) >= 0 || string(s.Body) != string(seen(s.ID, s.Order).Body) {
							t.Errorf("%s with body %q stands behind %s", s.ID, s.Body, at.id)
						}
						at = next
					}
					if _, err := d.Look(t.Context(), place); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	got := list(t, dbs[0], place, backends.SnapshotQuery{IDs: []string{"hot"}})
	if looks == 0 || len(got) != 1 || got[0].Looks != hot {
		t.Errorf("%d looks, counted %d: %s", looks, hot, ids(got))
	}
}
