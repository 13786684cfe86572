package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const place = "sqs:eu-central-1/jobs-dlq"

func TestLookFromBeginToEnd(t *testing.T) {
	d, clock := newDB(t)
	wantLook := func(what string, want backends.Look) {
		t.Helper()
		if got, err := d.Look(t.Context(), place); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
	}
	wantLook("before any", backends.Look{Total: -1})
	p := begin(t, d, place)
	first := clock.now
	wantLook("begun", backends.Look{Running: true, Total: -1})
	must(t, p.Progress(t.Context(), 7))
	must(t, p.Put(t.Context(), seen("a", 1), seen("b", 2), seen("a", 1)))
	must(t, p.Put(t.Context(), seen("b", 2), seen("c", 3)))
	wantLook("under way", backends.Look{Running: true, Seen: 3, Total: 7})
	must(t, p.End(t.Context(), false, "others took some", "it was long"))
	ended := backends.Look{AsOf: first, Seen: 3, Total: 7, Notes: []string{"others took some", "it was long"}}
	wantLook("ended", ended)
	must(t, p.Close())
	must(t, p.Close())
	wantLook("closed", ended)
	if p.Put(t.Context(), seen("d", 4)) == nil || p.End(t.Context(), true) == nil || p.Progress(t.Context(), 1) == nil {
		t.Error("a look that is over goes on")
	}

	p = begin(t, d, place)
	wantLook("begun again", backends.Look{AsOf: first, Running: true, Total: -1})
	must(t, p.Put(t.Context(), seen("a", 1)))
	must(t, p.Close())
	wantLook("given up", backends.Look{AsOf: first, Seen: 1, Total: -1, Notes: []string{cutShort}})
	wantIDs(t, "all", list(t, d, place, backends.SnapshotQuery{}), "c(1) b(2) a(3) ")
}

func TestOneLookAtATime(t *testing.T) {
	d, clock := newDB(t)
	other := openIn(t, d.state, clock.Now)
	p := begin(t, d, place)
	for _, d := range []*DB{d, other} {
		if _, err := d.Begin(t.Context(), place); !errors.Is(err, backends.ErrLooking) {
			t.Errorf("a second look: %v", err)
		}
		if l, err := d.Look(t.Context(), place); err != nil || !l.Running {
			t.Errorf("%+v, %v", l, err)
		}
	}
	begin(t, other, place+"2")
	must(t, p.End(t.Context(), true))
	if _, err := d.Begin(t.Context(), place); !errors.Is(err, backends.ErrLooking) {
		t.Errorf("before Close: %v", err)
	}
	must(t, p.Close())
	begin(t, other, place)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Begin(ctx, place); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What passes that were whole, not whole, or given up leave of letters that they
// did not see.
func TestWhatIsListed(t *testing.T) {
	for name, c := range map[string]struct {
		second                 func(p backends.Pass) error
		listed, byID, lateList string
	}{
		"whole":     {func(p backends.Pass) error { return p.End(context.Background(), true) }, "c(1) a(2) ", "a(2) ", "b(1) a(3) "},
		"not whole": {func(p backends.Pass) error { return p.End(context.Background(), false) }, "c(1) b(1) a(2) ", "b(1) a(2) ", "b(2) a(3) "},
		"given up":  {func(p backends.Pass) error { return nil }, "c(1) b(1) a(2) ", "b(1) a(2) ", "b(2) a(3) "},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDB(t)
			looked(t, d, place, true, seen("a", 1), seen("b", 2))
			p := begin(t, d, place)
			must(t, p.Put(t.Context(), seen("a", 1), seen("c", 3)))
			wantIDs(t, "meanwhile", list(t, d, place, backends.SnapshotQuery{}), "c(1) b(1) a(2) ")
			must(t, c.second(p))
			must(t, p.Close())
			wantIDs(t, "then", list(t, d, place, backends.SnapshotQuery{}), c.listed)
			wantIDs(t, "by id", list(t, d, place, backends.SnapshotQuery{IDs: []string{"a", "b", "x", "b", ""}}), c.byID)
			wantIDs(t, "of no id", list(t, d, place, backends.SnapshotQuery{IDs: []string{}}), "")
			wantIDs(t, "elsewhere", list(t, d, place+"2", backends.SnapshotQuery{}), "")

			must(t, d.Drop(t.Context(), place, "c", "x"))
			p = begin(t, d, place)
			must(t, p.Put(t.Context(), seen("b", 2), seen("a", 1)))
			must(t, p.End(t.Context(), true))
			want := c.lateList
			if name == "whole" {
				want = "b(2) a(3) "
			}
			wantIDs(t, "when it came back", list(t, d, place, backends.SnapshotQuery{}), want)
			wantIDs(t, "dropped", list(t, d, place, backends.SnapshotQuery{IDs: []string{"c"}}), "")
		})
	}
}

// Ids, places, facts and bodies are bytes and nothing else.
func TestAnyBytes(t *testing.T) {
	d, _ := newDB(t)
	odd := []string{"\x00", "a\x00b", "a", "\xff\xfe", "%_'\"", "ä", "\u202e", "x'00'", "1", "1.0", "NULL", string(bytes.Repeat([]byte{0xc3}, 3000))}
	for _, place := range odd {
		var letters []backends.Snapshot
		for i, id := range odd {
			letters = append(letters, backends.Snapshot{ID: id, Order: int64(i % 3), Facts: []byte(id + place), Body: []byte(place + id), Size: i})
		}
		looked(t, d, place, true, letters...)
		slices.SortFunc(letters, func(a, b backends.Snapshot) int {
			return order(position{^a.Order, []byte(a.ID)}, position{^b.Order, []byte(b.ID)})
		})
		for _, got := range [][]backends.Snapshot{
			list(t, d, place, backends.SnapshotQuery{Bodies: true}), list(t, d, place, backends.SnapshotQuery{IDs: odd, Bodies: true}),
		} {
			same := slices.EqualFunc(got, letters, func(a, b backends.Snapshot) bool {
				return a.ID == b.ID && a.Order == b.Order && bytes.Equal(a.Facts, b.Facts) && bytes.Equal(a.Body, b.Body) && a.Size == b.Size
			})
			if !same {
				t.Errorf("at %q: %q", place, ids(got))
			}
		}
	}
	p := begin(t, d, place)
	must(t, p.Put(t.Context(), backends.Snapshot{ID: "bare"}))
	if got := list(t, d, place, backends.SnapshotQuery{Bodies: true}); len(got) != 1 || got[0].Body == nil || len(got[0].Body) > 0 {
		t.Errorf("a letter without facts and body: %+v", got)
	}
	if got := list(t, d, place, backends.SnapshotQuery{}); len(got) != 1 || got[0].Body != nil {
		t.Errorf("without bodies: %+v", got)
	}
	for what, err := range map[string]error{
		"put": p.Put(t.Context(), backends.Snapshot{}), "received": d.Received(t.Context(), place, ""), "drop": d.Drop(t.Context(), place, ""),
	} {
		if backends.CodeOf(err) != backends.BadID {
			t.Errorf("%s without an id: %v", what, err)
		}
	}
}

func TestReceived(t *testing.T) {
	d, clock := newDB(t)
	looked(t, d, place, true, seen("a", 1))
	before := list(t, d, place, backends.SnapshotQuery{})[0]
	clock.add(time.Hour)
	must(t, d.Received(t.Context(), place, "a", "later", "a", "later"))
	must(t, d.Received(t.Context(), "another", "a"))
	after := list(t, d, place, backends.SnapshotQuery{})[0]
	if after.Looks != 3 || !after.Last.Equal(before.Last) || !after.First.Equal(before.First) {
		t.Errorf("received twice more: %+v", after)
	}
	wantIDs(t, "what no look saw", list(t, d, place, backends.SnapshotQuery{IDs: []string{"a", "later"}}), "a(3) ")
	looked(t, d, place, true, seen("later", 2))
	got := list(t, d, place, backends.SnapshotQuery{})
	wantIDs(t, "seen then", got, "later(3) ")
	if !got[0].First.After(after.Last) || !got[0].Last.Equal(got[0].First) {
		t.Errorf("it was first seen by the look, not at %v", got[0].First)
	}
}

// A batch of large letters is committed in parts, and SQLite's log does not grow
// with what is put.
func TestLargeLetters(t *testing.T) {
	d, _ := newDB(t)
	var letters []backends.Snapshot
	for i := range 64 {
		letters = append(letters, backends.Snapshot{ID: fmt.Sprint(i), Order: int64(i), Body: bytes.Repeat([]byte{byte(i)}, 1<<20), Size: 1 << 20})
	}
	looked(t, d, place, true, letters...)
	n := 63
	for s, err := range d.Letters(t.Context(), place, backends.SnapshotQuery{Bodies: true}) {
		must(t, err)
		if s.ID != fmt.Sprint(n) || !bytes.Equal(s.Body, letters[n].Body) {
			t.Errorf("letter %s at %d with %d bytes", s.ID, n, len(s.Body))
		}
		n--
	}
	info, err := os.Stat(filepath.Join(d.state.Path(), FileName+"-wal"))
	must(t, err)
	if n != -1 || info.Size() > 32<<20 {
		t.Errorf("%d letters are missing; the log has %d bytes", n+1, info.Size())
	}
}
