package ledger

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

var hostile = []string{"9007199254740993", "9223372036854775807", "-1", "01", "1", "1.0", "1e3", "true", "null", "", " ", "'", `"`, `\`, `\u0041`, "a'); DROP TABLE items; --",
	"?1", ":id", "%", "<&>", "é", "e\u0301", "\u202e", "\u2028", "\U0001F600", "\x01\x1f\x7f", "\n\r\t", "a\x00b", "a\x00c", "\uFFFD", "{}", "[1]"}

func TestHostileIDs(t *testing.T) {
	l, _ := newLedger(t)
	items := letters(hostile...)
	for i := range items {
		items[i].Ref.Mark = hostile[len(hostile)-1-i]
	}
	fence := running(t, l, request("r-1", approved), items)
	got := allItems(t, l, "r-1")
	for i, it := range got {
		it.State, it.At = "", time.Time{}
		if !reflect.DeepEqual(it, items[i]) {
			t.Errorf("%+v became %+v", items[i], it)
		}
	}
	claims, err := l.Claims(t.Context(), "db/jobs", hostile)
	must(t, err)
	intend(t, l, "r-1", fence, "t'1", upTo(len(items))...)
	for i := range items {
		must(t, record(t, l, "r-1", []backends.Outcome{{N: i, State: backends.Done, NewID: "new" + hostile[i]}}))
	}
	replays, err := l.Replays(t.Context(), "db/jobs", hostile)
	must(t, err)
	for i, id := range hostile {
		if claims[id] != "r-1" || replays[id].Count != 1 {
			t.Errorf("%q: claimed by %q, sent %d times", id, claims[id], replays[id].Count)
		}
		later, err := l.Replays(t.Context(), "db/jobs", []string{"new" + id})
		must(t, err)
		if later["new"+id].Count != 1 {
			t.Errorf("the successor of %q was sent %d times", id, later["new"+id].Count)
		}
		if it := allItems(t, l, "r-1")[i]; it.NewID != "new"+id {
			t.Errorf("new id %q", it.NewID)
		}
	}
}

// An id that SQLite's JSON cannot carry as it is would become another's.
func TestIDsThatCannotBeKeptAreRefused(t *testing.T) {
	l, _ := newLedger(t)
	for _, id := range []string{"\xff", "a\xc3"} {
		if err := l.Create(t.Context(), request("r-1"), letters(id), Caps{}); err == nil {
			t.Errorf("%q was kept as %q", id, allItems(t, l, "r-1")[0].Ref.ID)
			execSQL(t, l, `DELETE FROM items`)
			execSQL(t, l, `DELETE FROM plans; DELETE FROM frozen`)
		}
		items := letters("fine")
		items[0].Ref.Mark = id
		if err := l.Create(t.Context(), request("r-1"), items, Caps{}); err == nil {
			t.Errorf("the mark %q was kept as %q", id, allItems(t, l, "r-1")[0].Ref.Mark)
			execSQL(t, l, `DELETE FROM items`)
			execSQL(t, l, `DELETE FROM plans; DELETE FROM frozen`)
		}
	}
}

func TestBodies(t *testing.T) {
	l, clock := newLedger(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	bodies := [][]byte{nil, {}, []byte("0"), all, bytes.Repeat([]byte{0xff}, 1<<20)}
	items := letters("a", "b", "c", "d", "e")
	for i := range items {
		items[i].Body = bodies[i]
	}
	items[1].Original, items[3].Original = []byte{}, all
	create(t, l, request("r-1", func(p *Plan) { p.Keep = time.Hour }), items)
	for i, it := range allItems(t, l, "r-1") {
		if (it.Body == nil) != (bodies[i] == nil) || !bytes.Equal(it.Body, bodies[i]) {
			t.Errorf("body %d of %d bytes (nil: %v) became %d bytes (nil: %v)", i, len(bodies[i]), bodies[i] == nil, len(it.Body), it.Body == nil)
		}
	}
	for n, want := range map[int][]byte{0: nil, 1: {}, 3: all} {
		got, err := l.Original(t.Context(), "r-1", n)
		if err != nil || (got == nil) != (want == nil) || !bytes.Equal(got, want) {
			t.Errorf("original %d: %d bytes (nil: %v), %v", n, len(got), got == nil, err)
		}
	}
	// Originals go when their time is up.
	clock.add(time.Hour)
	create(t, l, request("r-2", func(p *Plan) { p.Expires, p.NotAfter = start.Add(9*time.Hour), start.Add(9*time.Hour) }), letters("f"))
	if got, err := l.Original(t.Context(), "r-1", 3); got != nil || err != nil {
		t.Errorf("kept for too long: %d bytes, %v", len(got), err)
	}
}

func TestPlanRoundTrip(t *testing.T) {
	l, _ := newLedger(t)
	p := request("r-abcdefgh", func(p *Plan) { p.Bytes, p.Session, p.Idem = []byte{0, 255}, "s'", "\"" })
	create(t, l, p, nil)
	create(t, l, request("r-abcdxxxx"), nil)
	got, err := l.Get(t.Context(), "r-abcde")
	must(t, err)
	if !reflect.DeepEqual(got, p) {
		t.Errorf("%+v became %+v", p, got)
	}
	for _, id := range []string{"r-abcd", "r-a", "%", "r-none", ""} {
		_, err := l.Get(t.Context(), id)
		wantIs(t, id, err, ErrNoPlan)
	}
	find, err := l.Find(t.Context(), Pending, Done)
	if err != nil || len(find) != 2 {
		t.Errorf("pending: %d, %v", len(find), err)
	}
}

func TestPatches(t *testing.T) {
	l, clock := newLedger(t)
	p := Patch{ID: "p-1", Queue: "mail", Kind: "patch", Data: []byte("[]"), Note: "n", Principal: "luis", Created: start, Expires: start.Add(time.Hour)}
	must(t, l.PutPatch(t.Context(), p))
	got, err := l.Patch(t.Context(), "p-1")
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v became %+v, %v", p, got, err)
	}
	clock.add(time.Hour)
	_, err = l.Patch(t.Context(), "p-1")
	wantIs(t, "after its time", err, ErrNoPatch)
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := NewID("r")
		if len(id) != 10 || id[:2] != "r-" || seen[id] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
}

// A large plan goes in and out through the same few statements as a small one.
func TestTenThousandItems(t *testing.T) {
	l, _ := newLedger(t)
	const n = 10_000
	big(t, l, "r-1", n)
	c, err := l.Count(t.Context(), "r-1")
	if err != nil || c != (Counts{Sent: n}) {
		t.Errorf("counts %+v, %v", c, err)
	}
}

func big(t testing.TB, l *Ledger, id string, n int) {
	t.Helper()
	fence := running(t, l, request(id, approved), numbered(id, n))
	intend(t, l, id, fence, "t-"+id, upTo(n)...)
	must(t, record(t, l, id, outcomes(backends.Done, upTo(n)...)))
	_, err := l.Finish(t.Context(), id, fence, false, "")
	must(t, err)
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, _ := newLedger(b)
			i := 0
			for b.Loop() {
				i++
				big(b, l, fmt.Sprint("r-", n, "-", i), n)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/item")
		})
	}
}
