package backendtest

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// send redrives items and expects no error.
func send(t testing.TB, s backends.Store, b Bench, items []backends.Item, j *journal) {
	t.Helper()
	if err := s.Redrive(t.Context(), orderOf(b, items), j.face()); err != nil {
		t.Fatalf("redriving %d items: %v", len(items), err)
	}
	for n, e := range j.entries {
		if e.state == backends.Claimed || e.state == backends.Intended {
			t.Errorf("item %d has no final outcome, it is %s", n, e.state)
		}
	}
}

// sentOnce checks that a worker gets the message once, byte for byte, and that
// it is dead no more.
func sentOnce(t testing.TB, s backends.Store, b Bench, it backends.Item, body string) {
	t.Helper()
	if n := counts(t, b)[body]; n != 1 {
		t.Errorf("item %d was sent %d times as %s", it.N, n, body)
	}
	if dead(t, s, b, it.Ref.ID) {
		t.Errorf("item %d was sent and is still dead", it.N)
	}
}

func redriveAll(t testing.TB, b Bench) {
	for _, n := range []int{1, 7} {
		s := open(t, b)
		letters := some(n)
		items := planned(t, s, b, letters)
		j := newJournal(t, b, letters, 1000)
		send(t, s, b, items, j)
		for i, it := range items {
			j.want(i, backends.Done)
			sentOnce(t, s, b, it, string(letters[i].Body))
		}
	}
}

// redriveBatches: Admit lets few go at once, so that there are many batches.
func redriveBatches(t testing.TB, b Bench) {
	for _, ahead := range []bool{false, true} {
		s := open(t, b)
		letters := some(11)
		items := planned(t, s, b, letters)
		j := newJournal(t, b, letters, 2)
		j.ahead = ahead
		send(t, s, b, items, j)
		for i, it := range items {
			j.want(i, backends.Done)
			sentOnce(t, s, b, it, string(letters[i].Body))
		}
	}
}

// guard: what is not exactly what was planned stays where it is.
func guard(t testing.TB, b Bench) {
	s := open(t, b)
	letters := some(6)
	items := planned(t, s, b, letters)
	const untouched, touched, removed, revived, again, wrong = 0, 1, 2, 3, 4, 5
	if b.Touch != nil {
		b.Touch(t, items[touched].Ref.ID)
	}
	b.Remove(t, items[removed].Ref.ID)
	b.Revive(t, items[revived].Ref.ID)
	b.Revive(t, items[again].Ref.ID)
	b.KillAgain(t, items[again].Ref.ID)
	items[wrong].Ref.Digest[0] ^= 1
	before := counts(t, b)
	j := newJournal(t, b, letters, 1000)
	j.bodies[revived] = "" // somebody else sent it
	send(t, s, b, items, j)

	j.want(untouched, backends.Done)
	if b.Touch != nil {
		j.want(touched, backends.Skipped, backends.Changed)
	}
	j.want(removed, backends.Skipped, backends.Gone)
	j.want(revived, backends.Skipped, backends.Gone, backends.Changed)
	j.want(again, backends.Skipped, backends.Changed, backends.Gone)
	j.want(wrong, backends.Skipped, backends.Changed)
	after := counts(t, b)
	for _, n := range []int{removed, revived, again, wrong} {
		if after[string(letters[n].Body)] != before[string(letters[n].Body)] {
			t.Errorf("item %d is not what was planned, and was sent", n)
		}
	}
}

// patch: a worker gets the body of the order, byte for byte.
func patch(t testing.TB, b Bench) {
	if !b.Facts.Patches {
		return
	}
	s := open(t, b)
	letters, bodies := some(4), some(4)
	if b.Facts.KeepsBytes {
		bodies = odd()
	}
	items := planned(t, s, b, letters)
	j := newJournal(t, b, letters, 1000)
	for i := range items[:3] { // the last one goes as it is
		items[i].Body = bodies[i].Body
		j.bodies[i] = string(bodies[i].Body)
	}
	send(t, s, b, items, j)
	for i, it := range items {
		j.want(i, backends.Done)
		sentOnce(t, s, b, it, j.bodies[i])
	}
}

// journalRefuses: when the journal refuses a step, nothing is sent and the
// journal's own error comes back.
func journalRefuses(t testing.TB, b Bench) {
	for step := range 3 { // before Admit, after Admit, before Intend
		s := open(t, b)
		letters := some(3)
		items := planned(t, s, b, letters)
		j := newJournal(t, b, letters, 1000)
		j.cutAt = step
		if err := s.Redrive(t.Context(), orderOf(b, items), j); !errors.Is(err, errCut) {
			t.Errorf("refused at step %d: the error is %v, want the journal's own", step, err)
		}
		for i, l := range letters {
			if n := counts(t, b)[string(l.Body)]; n != 0 {
				t.Errorf("refused at step %d: item %d was sent", step, i)
			}
		}
	}
}

// readAfterAdmit: Admit may wait long, so nothing may be locked or compared
// before it. A letter that changes during Admit is not sent.
func readAfterAdmit(t testing.TB, b Bench) {
	change := b.Touch
	if change == nil {
		change = b.Remove
	}
	s := open(t, b)
	letters := some(4)
	items := planned(t, s, b, letters)
	j := newJournal(t, b, letters, 2)
	changed := map[int]bool{}
	j.watch = func(step string, _ []int) {
		if n := j.lastClaimed(changed); step == "admit" && n >= 0 {
			change(t, items[n].Ref.ID)
			changed[n] = true
		}
	}
	send(t, s, b, items, j)
	if len(changed) == 0 {
		t.Errorf("no letter changed while the store waited")
	}
	for i := range items {
		if changed[i] {
			j.want(i, backends.Skipped, backends.Changed, backends.Gone)
		} else {
			j.want(i, backends.Done)
		}
	}
}

// cancelled: a caller who goes away in the middle of a batch leaves nothing
// half done; what was intended can be settled.
func cancelled(t testing.TB, b Bench) {
	for _, at := range []string{"admit", "intend"} {
		s := open(t, b)
		letters := some(6)
		items := planned(t, s, b, letters)
		j := newJournal(t, b, letters, 3)
		ctx, cancel := context.WithCancel(t.Context())
		j.watch = func(step string, _ []int) {
			if step == at {
				cancel()
			}
		}
		err := s.Redrive(ctx, orderOf(b, items), j)
		cancel()
		j.watch = nil
		if err == nil && at == "admit" {
			t.Errorf("a redrive whose caller left before the first batch went on to the end")
		}
		finish(t, open(t, b), b, items, j)
	}
}
