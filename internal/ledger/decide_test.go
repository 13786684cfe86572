package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

func TestExpire(t *testing.T) {
	l, clock := newLedger(t)
	create(t, l, request("r-pending"), letters("a"))
	create(t, l, request("r-approved", approved, func(p *Plan) { p.NotAfter = start.Add(2 * time.Hour) }), letters("b"))
	create(t, l, request("r-late", func(p *Plan) { p.Expires, p.NotAfter = start.Add(9*time.Hour), start.Add(time.Hour) }), letters("c"))
	running(t, l, request("r-running", approved, func(p *Plan) { p.NotAfter = start.Add(time.Minute) }), letters("d"))
	for _, c := range []struct {
		add  time.Duration
		want string
	}{{0, "[]"}, {time.Hour - time.Microsecond, "[]"}, {time.Microsecond, "[r-late r-pending]"}, {0, "[]"}, {time.Hour, "[r-approved]"}} {
		clock.add(c.add)
		due, err := l.Expire(t.Context())
		must(t, err)
		if fmt.Sprint(due) != c.want && fmt.Sprint(due) != "[r-pending r-late]" {
			t.Errorf("at %v: %v, want %s", clock.Now(), due, c.want)
		}
	}
	wantState(t, l, "r-running", Running)
	wantClaims(t, l, map[string]string{"d": "r-running"}, "a", "b", "c", "d")
}

func decision(person string, yes bool) Decision {
	return Decision{Plan: "r-1", Person: person, Digest: "digest of r-1", Proof: "none", Reason: "because", Yes: yes, At: start, Seq: 7, Hash: "h"}
}

func TestDecide(t *testing.T) {
	l, clock := newLedger(t)
	create(t, l, request("r-1"), letters("a"))
	other := decision("ana", true)
	other.Digest = "digest of r-2"
	wantAs[*MoveError](t, "another digest", l.Decide(t.Context(), other, Approved, time.Time{}))
	other.Plan = "r-none"
	wantIs(t, "no plan", l.Decide(t.Context(), other, Approved, time.Time{}), ErrNoPlan)

	must(t, l.Decide(t.Context(), decision("ana", true), "", time.Time{}))
	wantState(t, l, "r-1", Pending)
	wantIs(t, "the same person", l.Decide(t.Context(), decision("ana", false), Denied, time.Time{}), ErrDecided)
	wantState(t, l, "r-1", Pending)
	must(t, l.Decide(t.Context(), decision("luis", true), Approved, time.Time{}))
	wantState(t, l, "r-1", Approved)
	// An approval can still be met by a denial, and that is final.
	must(t, l.Decide(t.Context(), decision("eve", false), Denied, start.Add(time.Hour)))
	wantState(t, l, "r-1", Denied)
	wantAs[*MoveError](t, "after a denial", l.Decide(t.Context(), decision("bo", true), Approved, time.Time{}))
	wantClaims(t, l, map[string]string{}, "a")

	ds, err := l.Decisions(t.Context(), "r-1")
	must(t, err)
	if len(ds) != 3 || ds[0] != decision("ana", true) || ds[1] != decision("eve", false) || ds[2] != decision("luis", true) {
		t.Errorf("decisions %+v", ds)
	}
	create(t, l, request("r-late"), letters("a"))
	clock.add(time.Hour)
	late := decision("ana", true)
	late.Plan, late.Digest = "r-late", "digest of r-late"
	wantAs[*MoveError](t, "after its time", l.Decide(t.Context(), late, Approved, time.Time{}))
}

func TestDenials(t *testing.T) {
	l, clock := newLedger(t)
	deny := func(id string, items []Item, until time.Duration) {
		t.Helper()
		create(t, l, request(id), items)
		d := decision("ana", false)
		d.Plan, d.Digest = id, "digest of "+id
		must(t, l.Decide(t.Context(), d, Denied, start.Add(until)))
	}
	patched := letters("b")
	patched[0].Body = []byte{}
	deny("r-1", letters("a"), time.Hour)
	deny("r-2", patched, 2*time.Hour)
	again := letters("a")
	again[0].Body = []byte("patched")
	deny("r-3", again, 3*time.Hour)
	create(t, l, request("r-4"), letters("c"))

	want := func(what string, want string) {
		t.Helper()
		got, err := l.Denials(t.Context(), "db/jobs", []string{"a", "b", "c"})
		must(t, err)
		text := ""
		for _, id := range []string{"a", "b", "c"} {
			for _, d := range got[id] {
				text += fmt.Sprintf("%s: %s %s until %v, body %q, %v; ", id, d.Plan, d.Mark, d.Until.Sub(start), d.Body, d.Body == nil)
			}
		}
		if text != want {
			t.Errorf("%s: %s", what, text)
		}
	}
	// A second denial, of another body, does not lift the first; an empty body is
	// not the stored one.
	last := `a: r-3 m-a until 3h0m0s, body "patched", false; `
	want("at first", last+`a: r-1 m-a until 1h0m0s, body "", true; b: r-2 m-b until 2h0m0s, body "", false; `)
	if elsewhere, _ := l.Denials(t.Context(), "db/other", []string{"a"}); len(elsewhere) != 0 {
		t.Errorf("denials elsewhere %+v", elsewhere)
	}
	clock.add(time.Hour)
	want("after the first one's time", last+`b: r-2 m-b until 2h0m0s, body "", false; `)
	clock.add(2 * time.Hour)
	want("after their time", "")
}

func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		settled []backends.State
		want    State
	}{
		"all went":        {[]backends.State{backends.Done, backends.Done}, Done},
		"one went":        {[]backends.State{backends.Done, backends.Skipped}, Partial},
		"one is not told": {[]backends.State{backends.Done}, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLedger(t)
			fence := running(t, l, request("r-1", approved), letters("a", "b"))
			intend(t, l, "r-1", fence, "t-1", 0, 1)
			must(t, record(t, l, "r-1", outcomes(backends.Doubtful, 0, 1)))
			if s, err := l.Finish(t.Context(), "r-1", fence, false, ""); s != Unknown || err != nil {
				t.Fatalf("finished %s, %v", s, err)
			}
			wantClaims(t, l, map[string]string{"a": "r-1", "b": "r-1"}, "a", "b")
			for n, s := range c.settled {
				must(t, l.Settle(t.Context(), "r-1", outcomes(s, n)))
			}
			wantState(t, l, "r-1", c.want)
			wantAs[*MoveError](t, "twice", l.Settle(t.Context(), "r-1", outcomes(backends.Done, 0)))
			if claims, _ := l.Claims(t.Context(), "db/jobs", []string{"a", "b"}); len(claims) != 2-len(c.settled) {
				t.Errorf("claims %v", claims)
			}
		})
	}
}

// The last answer and the end of the plan are one transaction: whoever is cut
// off in between would find nothing left to settle.
func TestSettleIsOneStep(t *testing.T) {
	l, clock := newLedger(t)
	fence := running(t, l, request("r-1", approved), letters("a"))
	intend(t, l, "r-1", fence, "t-1", 0)
	must(t, record(t, l, "r-1", outcomes(backends.Doubtful, 0)))
	_, err := l.Finish(t.Context(), "r-1", fence, false, "")
	must(t, err)
	looks := 0
	l.clock = func() time.Time {
		if looks++; looks == 2 {
			panic("cut off")
		}
		return clock.Now()
	}
	func() {
		defer func() { recover() }()
		l.Settle(t.Context(), "r-1", outcomes(backends.Done, 0))
	}()
	item, p := allItems(t, l, "r-1")[0], Plan{}
	if p, err = l.Get(t.Context(), "r-1"); err != nil || (item.State == backends.Done) != (p.State == Done) {
		t.Errorf("the item is %s and the plan %s, %v", item.State, p.State, err)
	}
}
