package gate_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// looker is a job table that is looked at as a store is that shows nothing for
// free: each look keeps one letter and waits for whoever closes the store.
type looker struct {
	backends.Store
	config backends.Config
	closed *[]string
}

func (l *looker) Look(ctx context.Context, queue string, _ bool) (look backends.Look, err error) {
	s, err := l.config.Snapshots(ctx)
	if err != nil {
		return look, err
	}
	p, err := s.Begin(ctx, queue)
	if err != nil {
		return look, err
	}
	err = errors.Join(p.Put(ctx, backends.Snapshot{ID: "1", Body: []byte("kept")}), p.End(ctx, false), p.Close())
	if err != nil {
		return look, err
	}
	return s.Look(ctx, queue)
}

// Close asks for the snapshots once more, as a look in the background may.
func (l *looker) Close() error {
	s, err := l.config.Snapshots(context.Background())
	if err == nil {
		_, err = s.Look(context.Background(), "orders")
	}
	*l.closed = append(*l.closed, "closed")
	return errors.Join(err, l.Store.Close())
}

// looking makes the house's store one that has to be looked at. closed fills as
// its stores are closed.
func looking(closed *[]string) backends.Driver {
	d := sqljobs.SQLite()
	open := d.Open
	d.Open = func(c backends.Config) (backends.Store, error) {
		s, err := open(c)
		return &looker{s, c, closed}, err
	}
	return d
}

// stateFiles are those in the state folder that have to do with looks.
func (h *house) stateFiles() (names []string) {
	h.t.Helper()
	all, err := os.ReadDir(filepath.Join(h.dir, "state"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), "snapshots") || strings.HasPrefix(e.Name(), "look-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// The file of what was seen is made by the first look, not by a store that is
// never looked at. It is closed after all stores, those of earlier policies too.
func TestSnapshotsAreOpenedByTheFirstLook(t *testing.T) {
	h := open(t, standard)
	must[*gate.ListResult](t)(h.agent().List(t.Context(), gate.ListArgs{Queue: "orders"}))
	must[[]gate.Finding](t)(h.person("ana").Doctor(t.Context()), nil)
	if err := h.gate.Close(); err != nil || len(h.stateFiles()) > 0 {
		t.Fatalf("%v; the folder has %v", err, h.stateFiles())
	}
	var closed []string
	h.openWith(looking(&closed))
	if len(h.stateFiles()) > 0 {
		t.Errorf("opening made %v", h.stateFiles())
	}
	for i, keep := range []string{"30d", "1s"} {
		h.policy(standard + "defaults: {snapshots: {keep: " + keep + "}}\n")
		res := must[*gate.ListResult](t)(h.agent().List(t.Context(), gate.ListArgs{Queue: "orders"}))
		if res.Look == nil || res.Look.Seen != 1 || res.Look.Running {
			t.Errorf("look %d: %+v", i, res.Look)
		}
	}
	if !slices.Contains(h.stateFiles(), "snapshots-1.db") {
		t.Errorf("the folder has %v", h.stateFiles())
	}
	if err := h.gate.Close(); err != nil || len(closed) != 2 {
		t.Errorf("%v; %d stores were closed", err, len(closed))
	}
	h.verify()
}

// What is kept no longer than a policy says now is not kept as long as the one
// before said.
func TestSnapshotsAreKeptAsThePolicySays(t *testing.T) {
	h := open(t, standard)
	var kept backends.Snapshots
	d := sqljobs.SQLite()
	storeOpen := d.Open
	d.Open = func(c backends.Config) (backends.Store, error) {
		s, err := storeOpen(c)
		return &peeker{s, c, &kept}, err
	}
	h.openWith(d)
	for _, c := range []struct {
		keep string
		want int
	}{{"30d", 1}, {"1h", 0}, {"30d", 1}} {
		h.policy(standard + "defaults: {snapshots: {keep: " + c.keep + "}}\n")
		must[*gate.ListResult](t)(h.agent().List(t.Context(), gate.ListArgs{Queue: "orders"}))
		if c.want == 1 && c.keep == "30d" {
			p, err := kept.Begin(t.Context(), "q")
			if err == nil {
				err = errors.Join(p.Put(t.Context(), backends.Snapshot{ID: "1"}), p.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		h.clock.add(2 * time.Hour)
		n := 0
		for _, err := range kept.Letters(t.Context(), "q", backends.SnapshotQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != c.want {
			t.Errorf("kept for %s, after two hours there are %d", c.keep, n)
		}
	}
}

// peeker hands out the snapshots of its store.
type peeker struct {
	backends.Store
	config backends.Config
	to     *backends.Snapshots
}

func (p *peeker) Look(ctx context.Context, queue string, _ bool) (look backends.Look, err error) {
	*p.to, err = p.config.Snapshots(ctx)
	return look, err
}

// In every place of what was seen, everything that does not belong there is
// refused with a sentence, at once, and nothing is written through it. When it is
// mended the queue is looked at.
func TestUnsafeSnapshots(t *testing.T) {
	h := open(t, standard)
	var closed []string
	h.openWith(looking(&closed))
	must[*gate.ListResult](t)(h.agent().List(t.Context(), gate.ListArgs{Queue: "orders"}))
	lock := h.stateFiles()[0]
	if !strings.HasPrefix(lock, "look-") {
		t.Fatalf("the folder has %v", h.stateFiles())
	}
	for _, place := range []string{"snapshots-1.db", "snapshots-1.db-wal", "snapshots-1.db-shm", "snapshots-1.db-journal", "snapshots.lock", lock} {
		for name, put := range unsafe {
			t.Run(place+" is "+name, func(t *testing.T) {
				t.Parallel()
				h := open(t, standard)
				var closed []string
				list := func() (*gate.ListResult, error) {
					h.openWith(looking(&closed))
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a FIFO must hold nobody up
					defer cancel()
					defer h.gate.Close()
					return h.agent().List(ctx, gate.ListArgs{Queue: "orders"})
				}
				if place != "snapshots.lock" { // which is only asked for to make the file
					must[*gate.ListResult](t)(list())
				} else if err := os.MkdirAll(filepath.Join(h.dir, "state"), 0o700); err != nil {
					t.Fatal(err)
				} else if err := os.WriteFile(filepath.Join(h.dir, "state", "go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				path, away := filepath.Join(h.dir, "state", place), filepath.Join(h.dir, "away")
				before := moveAway(t, path, away)
				if err := put(path, away); err != nil {
					t.Fatal(err)
				}
				_, err := list()
				if r, ok := errors.AsType[*gate.Refusal](err); !ok || r.Hint == "" {
					t.Errorf("%v", err)
				}
				for _, p := range []string{away, away + ".kept"} {
					if after, ok := content(t, p); ok && !bytes.Equal(after, before) {
						t.Errorf("it was written through: %d bytes became %d", len(before), len(after))
					}
				}
				moveBack(t, path, away)
				if res := must[*gate.ListResult](t)(list()); res.Look == nil || res.Look.Seen != 1 {
					t.Errorf("mended: %+v", res.Look)
				}
				h.verify()
			})
		}
	}
}
