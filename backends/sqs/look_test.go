package sqs

import (
	"errors"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

func (b *bed) letters(t *testing.T, s *Store) (out []backends.DeadLetter) {
	t.Helper()
	for d, err := range s.Scan(t.Context(), backends.Query{Queue: "jobs", Bodies: true}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *d)
	}
	return out
}

// A look that is ended in the middle gives back what it took, and what it saw is
// shown.
func TestLookEnds(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, server sqstest.Server) {
		proxy := sqstest.NewProxy(t, server)
		b := newBed(t, server, sqstest.Options{})
		b.Dead.Fill(t, 60)
		s := b.openAt(t, proxy.Server.Endpoint)
		ended := make(chan error, 1)
		proxy.Add(sqstest.Rule{Action: "ReceiveMessage", Nth: 3, Do: sqstest.After(func() { go func() { ended <- s.Close() }() })},
			sqstest.Rule{Action: "ReceiveMessage", From: 4, Do: sqstest.Delay(100 * time.Millisecond)})
		_, _ = s.Look(t.Context(), "jobs", true)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		c := b.Dead.Count(t) // one of the servers counts late
		for began := time.Now(); c.InFlight > 0 && time.Since(began) < 10*time.Second; c = b.Dead.Count(t) {
		}
		if c.Visible != 60 || c.InFlight != 0 {
			t.Errorf("after the end %+v", c)
		}
		proxy.Clear()
		again := b.openAt(t, proxy.Server.Endpoint)
		defer again.Close()
		if got := b.letters(t, again); len(got) == 0 || len(got) > 60 {
			t.Errorf("%d letters were kept", len(got))
		}
		if _, err := s.Look(t.Context(), "jobs", true); err == nil {
			t.Error("a store that is closed looks")
		}
	})
}

// A dead-letter queue with a redrive policy of its own is not looked at, nor sent
// from, when one more receive would move messages on. Nothing is received then.
func TestOwnRedrivePolicy(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, server sqstest.Server) {
		for most, looks := range map[int]int{1: 0, 100: 3} {
			beyond := server.Create(t, nil)
			proxy := sqstest.NewProxy(t, server)
			b := newBed(t, server, sqstest.Options{MaxReceive: 2, Dead: map[string]string{"RedrivePolicy": sqstest.RedrivePolicy(beyond, most)}})
			b.Dead.Fill(t, 5)
			s := b.openAt(t, proxy.Server.Endpoint)
			defer s.Close()
			for range looks {
				if _, err := s.Look(t.Context(), "jobs", true); err != nil {
					t.Fatal(err)
				}
			}
			if looks > 0 {
				continue
			}
			_, err := s.Look(t.Context(), "jobs", true)
			if e, ok := errors.AsType[*backends.Error](err); !ok || e.Code != backends.Refused || e.Hint == "" {
				t.Errorf("looking: %v", err)
			}
			item := backends.Item{Ref: backends.Ref{Queue: "jobs", ID: "x"}}
			if err := s.Redrive(t.Context(), backends.Order{Queue: "jobs", Items: []backends.Item{item}}, newDiary()); err == nil {
				t.Error("a redrive received")
			}
			if n := len(proxy.Calls("ReceiveMessage")); n > 0 {
				t.Errorf("%d receives", n)
			}
		}
	})
}

// What SQS itself moved goes back to where it came from, where the policy names no
// destinations; what has no origin stays.
func TestOrigin(t *testing.T) {
	sqstest.Each(t, func(t *testing.T, server sqstest.Server) {
		if !server.SourceARN {
			t.Log("this server does not say where a message came from")
			return
		}
		b := newBed(t, server, sqstest.Options{MaxReceive: 1})
		b.src.Destinations = nil
		died := b.Die(t, sqstest.Letter{Body: `{"died":1}`})[0]
		b.Dead.Send(t, sqstest.Letter{Body: `{"sent":1}`})
		s := b.open(t)
		defer s.Close()
		if _, err := s.Look(t.Context(), "jobs", true); err != nil {
			t.Fatal(err)
		}
		d := newDiary()
		var items []backends.Item
		for n, l := range b.letters(t, s) {
			if moved := l.ID == died; moved != (l.ListOnly == "") || moved != (l.Origin.Queue.Raw() == b.Source.Name) || moved && l.Attempts.Limit != 1 {
				t.Errorf("%s: list only %q, origin %q, attempts %+v", l.ID, l.ListOnly, l.Origin.Queue, l.Attempts)
			}
			items = append(items, backends.Item{N: n, Ref: l.Ref})
		}
		if err := s.Redrive(t.Context(), backends.Order{Queue: "jobs", Items: items}, d); err != nil {
			t.Fatal(err)
		}
		for n, it := range items {
			want := backends.Failed
			if it.Ref.ID == died {
				want = backends.Done
			}
			if d.states[n] != want {
				t.Errorf("%s is %s", it.Ref.ID, d.states[n])
			}
		}
		if got := bodies(b.Source.Drain(t)); len(got) != 1 || got[`{"died":1}`] != 1 {
			t.Errorf("the source has %v", got)
		}
	})
}
