package ledger

import (
	"fmt"
	"sync"
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

// said keeps a decision, and confirms it by a record of the log.
func said(t testing.TB, l *Ledger, d Decision, to State, until time.Time) error {
	t.Helper()
	seq, hash := d.Seq, d.Hash
	d.Seq, d.Hash = seq-1, ""
	if err := l.Decide(t.Context(), d); err != nil {
		return err
	}
	_, err := l.Confirm(t.Context(), d, Head{Log: "l", Seq: seq, Hash: hash}, func([]Decision) (State, time.Time, error) { return to, until, nil })
	return err
}

func decision(person string, yes bool) Decision {
	return Decision{Plan: "r-1", Person: person, Digest: "digest of r-1", Proof: "none", Reason: "because", Yes: yes, At: start, Seq: 7, Hash: "h-" + person}
}

func TestDecide(t *testing.T) {
	l, clock := newLedger(t)
	create(t, l, request("r-1"), letters("a"))
	other := decision("ana", true)
	other.Digest = "digest of r-2"
	wantAs[*MoveError](t, "another digest", said(t, l, other, Approved, time.Time{}))
	other.Plan = "r-none"
	wantIs(t, "no plan", said(t, l, other, Approved, time.Time{}), ErrNoPlan)

	must(t, said(t, l, decision("ana", true), "", time.Time{}))
	wantState(t, l, "r-1", Pending)
	wantIs(t, "the same person", said(t, l, decision("ana", false), Denied, time.Time{}), ErrDecided)
	wantState(t, l, "r-1", Pending)
	must(t, said(t, l, decision("luis", true), Approved, time.Time{}))
	wantState(t, l, "r-1", Approved)
	// An approval can still be met by a denial, and that is final.
	must(t, said(t, l, decision("eve", false), Denied, start.Add(time.Hour)))
	wantState(t, l, "r-1", Denied)
	wantAs[*MoveError](t, "after a denial", said(t, l, decision("bo", true), Approved, time.Time{}))
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
	wantAs[*MoveError](t, "after its time", said(t, l, late, Approved, time.Time{}))
}

// A decision counts once the log has it, and not before; whoever confirms it
// second does nothing.
func TestConfirm(t *testing.T) {
	l, clock := newLedger(t)
	create(t, l, request("r-1"), letters("a"))
	want := func(what string, confirmed, unconfirmed int, s State) {
		t.Helper()
		ds, err := l.Decisions(t.Context(), "r-1")
		must(t, err)
		un, err := l.Unconfirmed(t.Context())
		must(t, err)
		if len(ds) != confirmed || len(un) != unconfirmed {
			t.Errorf("%s: confirmed %+v, unconfirmed %+v", what, ds, un)
		}
		wantState(t, l, "r-1", s)
	}
	asked := 0
	judge := func(ds []Decision) (State, time.Time, error) {
		asked++
		if len(ds) < 2 {
			return "", time.Time{}, nil
		}
		return Approved, time.Time{}, nil
	}
	confirm := func(d Decision) error {
		_, err := l.Confirm(t.Context(), d, Head{Log: "l", Seq: d.Seq, Hash: d.Hash}, judge)
		return err
	}
	no, yes, luis := decision("ana", false), decision("ana", true), decision("luis", true)
	must(t, l.Decide(t.Context(), no))
	must(t, l.Decide(t.Context(), yes)) // the first attempt died: it may be made anew
	must(t, l.Decide(t.Context(), luis))
	want("kept", 0, 2, Pending)
	wantIs(t, "what was replaced", confirm(no), ErrDecided)
	must(t, confirm(yes))
	must(t, confirm(yes))
	want("one", 1, 1, Pending)
	if has, err := l.HasDecision(t.Context(), "r-1", "luis"); !has || err != nil {
		t.Error("an unconfirmed decision is not found")
	}
	other := yes
	other.Hash = "another record"
	wantIs(t, "by another record", confirm(other), ErrDecided)
	must(t, confirm(luis))
	want("both", 2, 0, Approved)
	if h, err := l.Head(t.Context()); h.Hash != "h-luis" && h.Hash != "h-ana" || err != nil || asked != 2 {
		t.Errorf("head %+v, %v, judged %d times", h, err, asked)
	}
	// The plan has moved on: the decision stays noted, and moves nothing.
	eve := decision("eve", false)
	must(t, l.Decide(t.Context(), eve))
	clock.add(25 * time.Hour)
	if counts, err := l.Confirm(t.Context(), eve, Head{Log: "l", Seq: 8, Hash: eve.Hash}, judge); counts || err != nil {
		t.Errorf("late: counts %v, %v", counts, err)
	}
	want("late", 3, 0, Expired)
	// A judge that fails leaves all as it was.
	create(t, l, request("r-2"), letters("b"))
	d := Decision{Plan: "r-2", Person: "ana", Digest: "digest of r-2", Yes: true, At: start}
	execSQL(t, l, `UPDATE plans SET expires = expires * 2, not_after = not_after * 2 WHERE id = 'r-2'`)
	must(t, l.Decide(t.Context(), d))
	_, err := l.Confirm(t.Context(), d, Head{Log: "l", Seq: 9, Hash: "h9"}, func([]Decision) (State, time.Time, error) { return Approved, time.Time{}, ErrNewer })
	wantIs(t, "the judge", err, ErrNewer)
	if un, _ := l.Unconfirmed(t.Context()); len(un) != 1 {
		t.Errorf("unconfirmed %+v", un)
	}
}

// Of two people who decide at once the second one's yes meets the first one's.
func TestTwoDecideAtOnce(t *testing.T) {
	state, clock := newState(t), &frozen{now: start}
	handles := []*Ledger{openIn(t, state, clock.Now), openIn(t, state, clock.Now)}
	for i := range 10 {
		id := fmt.Sprint("r-", i)
		create(t, handles[0], request(id), letters(id))
		var wg sync.WaitGroup
		for k, person := range []string{"ana", "luis"} {
			wg.Go(func() {
				d := decision(person, true)
				d.Plan, d.Digest = id, "digest of "+id
				if err := handles[k].Decide(t.Context(), d); err != nil {
					t.Error(err)
				}
				_, err := handles[k].Confirm(t.Context(), d, Head{Log: "l", Seq: d.Seq, Hash: d.Hash}, func(ds []Decision) (State, time.Time, error) {
					if len(ds) == 2 {
						return Approved, time.Time{}, nil
					}
					return "", time.Time{}, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantState(t, handles[0], id, Approved)
	}
}

func TestDenials(t *testing.T) {
	l, clock := newLedger(t)
	deny := func(id string, items []Item, until time.Duration) {
		t.Helper()
		create(t, l, request(id), items)
		d := decision("ana", false)
		d.Plan, d.Digest = id, "digest of "+id
		must(t, said(t, l, d, Denied, start.Add(until)))
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
