package backendtest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// facts: what the store knows is there and true, and what it does not know is
// absent.
func facts(t testing.TB, b Bench) {
	s := open(t, b)
	letters := some(2)
	for i, l := range find(t, s, b, b.Kill(t, letters)) {
		f := b.Facts
		has := []struct {
			name      string
			want, got bool
		}{
			{"reason", f.Reason, !l.Reason.Message.IsZero()},
			{"attempts made", f.Made || f.AnyMade, l.Attempts.Made >= 0 || f.AnyMade},
			{"attempts limit", f.Limit, l.Attempts.Limit >= 0},
			{"enqueued", f.Enqueued, !l.Times.Enqueued.IsZero()},
			{"last attempt", f.LastAttempt, !l.Times.LastAttempt.IsZero()},
			{"time of death", f.Dead, !l.Times.Dead.IsZero()},
			{"job", f.Job, !l.Origin.Job.IsZero()},
		}
		for _, h := range has {
			if h.want != h.got {
				t.Errorf("%s: known is %v, want %v", h.name, h.got, h.want)
			}
		}
		factsOf(t, b, l, letters[i])
	}
}

func factsOf(t testing.TB, b Bench, l backends.DeadLetter, made Letter) {
	t.Helper()
	if b.Facts.Reason && !strings.Contains(l.Reason.Message.Raw(), made.Error) {
		t.Errorf("the reason is %q, want %q in it", l.Reason.Message, made.Error)
	}
	if b.Facts.Job && l.Origin.Job.Raw() != made.Job {
		t.Errorf("the job is %q, want %q", l.Origin.Job, made.Job)
	}
	if b.Facts.Dead && time.Since(l.Times.Dead).Abs() > 24*time.Hour {
		t.Errorf("it died at %s, which is not now", l.Times.Dead)
	}
	if l.Queue != b.Queue || l.Digest == [32]byte{} || l.Reason.Source == "" || l.Reason.Verdict == "" {
		t.Errorf("queue %q, digest %s, source %q, verdict %q: none may be empty", l.Queue, l.Hex(), l.Reason.Source, l.Reason.Verdict)
	}
}

// order: newest death first, and every After goes on behind its letter.
func order(t testing.TB, b Bench) {
	s := open(t, b)
	if !s.Can(b.Queue).Ordered {
		return
	}
	made := b.Kill(t, some(5))
	slices.Reverse(made)
	all := scan(t, s, backends.Query{Queue: b.Queue})
	if got := idsOf(all, made); s.Can(b.Queue).Dated && !slices.Equal(got, made) {
		t.Fatalf("the order is %q, want newest first: %q", got, made)
	}
	for i, l := range all[:5] {
		rest := scan(t, s, backends.Query{Queue: b.Queue, After: l.After})
		if want := idsOf(all[i+1:], nil); !slices.Equal(idsOf(rest, nil), want) {
			t.Errorf("behind letter %d come %q, want %q", i, idsOf(rest, nil), want)
		}
	}
	// A reader who goes on beyond what was wanted gets the same.
	if got := idsOf(scan(t, s, backends.Query{Queue: b.Queue, Want: 1}), nil); !slices.Equal(got, idsOf(all, nil)) {
		t.Errorf("wanting one and going on gives %q, want %q", got, idsOf(all, nil))
	}
	for range s.Scan(t.Context(), backends.Query{Queue: b.Queue}) {
		break // a reader may stop at any letter
	}
}

// idsOf lists ids, only those among some if some are given.
func idsOf(ls []backends.DeadLetter, among []string) []string {
	out := []string{}
	for _, l := range ls {
		if among == nil || slices.Contains(among, l.ID) {
			out = append(out, l.ID)
		}
	}
	return out
}

// asOf: letters that died later are left out.
func asOf(t testing.TB, b Bench) {
	s := open(t, b)
	if !s.Can(b.Queue).Dated {
		return
	}
	made := b.Kill(t, some(4))
	limit := find(t, s, b, made)[1].Times.Dead
	got := idsOf(scan(t, s, backends.Query{Queue: b.Queue, AsOf: limit}), made)
	if want := []string{made[1], made[0]}; !slices.Equal(got, want) {
		t.Errorf("as of the second death there are %q, want %q", got, want)
	}
}

// ids: exactly the letters that were asked for, in their exact spelling.
func ids(t testing.TB, b Bench) {
	s := open(t, b)
	if !s.Can(b.Queue).Random {
		return
	}
	made := b.Kill(t, some(3))
	asked := []string{made[0], made[2], "0" + made[0], " " + made[1], made[1] + " ", "", "\x00", "\xff"}
	asked = append(asked, b.OtherIDs...)
	if b.KillElsewhere != nil {
		asked = append(asked, b.KillElsewhere(t, some(1)[0]))
	}
	got := idsOf(scan(t, s, backends.Query{Queue: b.Queue, IDs: asked}), nil)
	slices.Sort(got)
	if want := slices.Sorted(slices.Values([]string{made[0], made[2]})); !slices.Equal(got, want) {
		t.Errorf("asked for %q, got %q, want %q", asked, got, want)
	}
	if none := scan(t, s, backends.Query{Queue: b.Queue, IDs: []string{}}); len(none) != 0 {
		t.Errorf("an empty list of ids gave %d letters", len(none))
	}
}

// odd are JSON bodies that a decode and an encode would change.
func odd() []Letter {
	out := some(4)
	run := string(out[0].Body)
	run = run[len(`{"job": "`) : len(run)-2]
	for i, body := range []string{
		`{"run":"RUN","n":9007199254740993,"f":1e2,"z":-0}`,
		"{ \"run\" : \"RUN\",\t\"b\":1,\n \"a\":[ ] }",
		`{"run":"RUN","s":"\u00e9\/<&>"}`,
		`{"run":"RUN","deep":{"a":[1,{"b":null}]}, "é":"ü"}`,
	} {
		out[i].Body = []byte(strings.ReplaceAll(body, "RUN", run))
	}
	return out
}

// bodies: byte for byte what was stored, only when asked, with their size.
func bodies(t testing.TB, b Bench) {
	s := open(t, b)
	letters := some(2)
	if b.Facts.KeepsBytes {
		letters = odd()
	}
	made := b.Kill(t, letters)
	for i, l := range find(t, s, b, made) {
		if !bytes.Equal(l.Payload.Bytes, letters[i].Body) {
			t.Errorf("the body is %q, want %q", l.Payload.Bytes, letters[i].Body)
		}
		if l.Payload.Size != len(letters[i].Body) || len(l.Envelope) == 0 {
			t.Errorf("the size is %d, want %d; the envelope has %d bytes", l.Payload.Size, len(letters[i].Body), len(l.Envelope))
		}
	}
	for _, l := range scan(t, s, backends.Query{Queue: b.Queue}) {
		if i := slices.Index(made, l.ID); i >= 0 {
			if len(l.Payload.Bytes)+len(l.Envelope) > 0 {
				t.Errorf("a listing without bodies holds one")
			}
			if size := l.Payload.Size; size != -1 && size != len(letters[i].Body) {
				t.Errorf("without its body the size is %d, want %d or -1", size, len(letters[i].Body))
			}
		}
	}
}

// depth: one more letter makes it one more.
func depth(t testing.TB, b Bench) {
	s := open(t, b)
	ask := func() backends.Depth {
		t.Helper()
		d, err := s.Depth(t.Context(), b.Queue)
		if err != nil {
			t.Fatalf("asking for the depth: %v", err)
		}
		return d
	}
	before := ask()
	b.Kill(t, some(3))
	after := ask()
	if after.Letters != before.Letters+3 || after.Capped {
		t.Errorf("three more letters: %d became %d (capped %v)", before.Letters, after.Letters, after.Capped)
	}
	if b.Facts.Dead && (after.Oldest.IsZero() || after.Newest.Before(after.Oldest)) {
		t.Errorf("oldest %s, newest %s", after.Oldest, after.Newest)
	}
	now, err := s.Now(t.Context(), b.Queue)
	if err != nil || now.IsZero() || b.Facts.Dead && now.Before(after.Newest) {
		t.Errorf("the store's clock says %s (%v), the newest death is of %s", now, err, after.Newest)
	}
}

// target: two connections to one place say the same.
func target(t testing.TB, b Bench) {
	one, err := open(t, b).Target(t.Context(), b.Queue)
	if err != nil {
		t.Fatalf("asking for the target: %v", err)
	}
	two, err := open(t, b).Target(t.Context(), b.Queue)
	if err != nil || !reflect.DeepEqual(one, two) || one.Store == "" || one.Place == "" {
		t.Errorf("one place has the targets %q and %q (%v)", one, two, err)
	}
	if open(t, b).Can(b.Queue).Effect == "" {
		t.Errorf("Can does not say what a redrive does")
	}
}

// fold: in whatever order, each letter once, with the facts that tell groups apart.
func fold(t testing.TB, b Bench) {
	s := open(t, b)
	made := b.Kill(t, some(5))
	find(t, s, b, made)
	tell := func(q backends.Query) []string {
		out := []string{}
		for _, l := range seen(t, s, q) {
			out = append(out, fmt.Sprint(l.ID, l.Reason.Message, l.Reason.Code, l.Reason.Stack, l.Reason.Verdict, l.Reason.Source,
				l.Origin.Job, l.Attempts.Made, l.Times.Enqueued, l.Times.Dead))
		}
		slices.Sort(out)
		return out
	}
	if got, want := tell(backends.Query{Queue: b.Queue, Fold: true}), tell(backends.Query{Queue: b.Queue}); !slices.Equal(got, want) {
		t.Errorf("a fold gives\n%q\na listing\n%q", got, want)
	}
	if s.Can(b.Queue).Dated {
		limit := find(t, s, b, made)[2].Times.Dead
		if got, want := tell(backends.Query{Queue: b.Queue, Fold: true, AsOf: limit}), tell(backends.Query{Queue: b.Queue, AsOf: limit}); !slices.Equal(got, want) {
			t.Errorf("as of the third death a fold gives\n%q\na listing\n%q", got, want)
		}
	}
	for range 20 { // a reader may stop at any letter
		for range s.Scan(t.Context(), backends.Query{Queue: b.Queue, Fold: true}) {
			break
		}
	}
}
