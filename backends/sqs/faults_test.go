package sqs

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/backendtest"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

// diary is a journal that lets everything pass and keeps what it is told.
type diary struct {
	mu     sync.Mutex
	states map[int]backends.State
	newIDs map[int]string
	ticket string
}

func newDiary() *diary { return &diary{states: map[int]backends.State{}, newIDs: map[int]string{}} }

func (d *diary) Admit(_ context.Context, n int) (int, error) { return min(n, 7), nil }

func (d *diary) Intend(_ context.Context, ticket string, ns ...int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ticket = ticket
	for _, n := range ns {
		d.states[n] = backends.Intended
	}
	return nil
}

func (d *diary) Record(_ context.Context, outcomes ...backends.Outcome) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range outcomes {
		d.states[o.N], d.newIDs[o.N] = o.State, o.NewID
	}
	return nil
}

// faulty is a redrive of 20 letters through a proxy that makes a fault.
type faulty struct {
	*bed
	t     *testing.T
	proxy *sqstest.Proxy
	items []backends.Item
	made  []backendtest.Letter
	diary *diary
}

func newFaulty(t *testing.T, server sqstest.Server, fifo bool) *faulty {
	f := &faulty{bed: newBed(t, server, sqstest.Options{FIFO: fifo}), t: t, proxy: sqstest.NewProxy(t, server), diary: newDiary()}
	for i := range 20 {
		f.made = append(f.made, backendtest.Letter{Body: []byte(`{"n":` + strings.Repeat("1", i+1) + `}`), Error: "boom", Job: "j"})
	}
	ids := f.kill(t, f.made)
	s := f.open(t)
	defer s.Close()
	if _, err := s.Look(t.Context(), "jobs", true); err != nil {
		t.Fatal(err)
	}
	refs := map[string]backends.Ref{}
	for d, err := range s.Scan(t.Context(), backends.Query{Queue: "jobs", IDs: ids, Bodies: true}) {
		if err != nil {
			t.Fatal(err)
		}
		refs[d.ID] = d.Ref
	}
	for n, id := range ids {
		f.items = append(f.items, backends.Item{N: n, Ref: refs[id]})
	}
	return f
}

// run redrives with the fault, and resolves without it.
func (f *faulty) run(rules ...sqstest.Rule) error {
	f.proxy.Add(rules...)
	s := f.openAt(f.t, f.proxy.Server.Endpoint)
	defer s.Close()
	err := s.Redrive(f.t.Context(), backends.Order{Queue: "jobs", Attempts: "reset", Items: f.items}, f.diary)
	f.proxy.Clear()
	var doubts []backends.Doubt
	for n, state := range maps.All(f.diary.states) {
		if state == backends.Intended || state == backends.Sent {
			doubts = append(doubts, backends.Doubt{Item: f.items[n], Ticket: f.diary.ticket, State: state, NewID: f.diary.newIDs[n]})
		}
	}
	if e := s.Resolve(f.t.Context(), "jobs", doubts, f.diary); e != nil {
		f.t.Errorf("resolving: %v", e)
	}
	return err
}

// judge accounts for each letter: what is done was delivered once and is dead no
// more; what may have been sent is still dead; all else is dead and was not sent.
// Nothing was deleted before a send was confirmed.
func (f *faulty) judge() (count map[backends.State]int) {
	f.t.Helper()
	sent, dead := bodies(f.look(f.t, f.Source)), bodies(f.look(f.t, f.Dead))
	count = map[backends.State]int{}
	for n, it := range f.items {
		state, body := f.diary.states[it.N], bodyOf(f.made[n])
		count[state]++
		ok := sent[body] == 0 && dead[body] == 1
		switch state {
		case backends.Done:
			ok = sent[body] == 1 && dead[body] == 0
		case backends.Doubtful:
			ok = sent[body] <= 1 && dead[body] == 1
		case backends.Sent, backends.Intended:
			ok = false
		}
		if !ok {
			f.t.Errorf("letter %d is %q: delivered %d times, dead %d times", n, state, sent[body], dead[body])
		}
	}
	confirmed := map[string]bool{}
	for _, e := range f.proxy.Effects() {
		if e.Deleted && !confirmed[e.Body] {
			f.t.Errorf("%s was deleted before a send of it was confirmed", e.Body)
		}
		confirmed[e.Body] = confirmed[e.Body] || !e.Deleted && e.Told
	}
	return count
}

func bodyOf(l backendtest.Letter) string { return string(l.Body) }

func TestFaults(t *testing.T) {
	odd := func(i int, _ sqstest.Entry) bool { return i%2 == 1 }
	tests := []struct {
		name  string
		rules []sqstest.Rule
		fails backends.Code // of Redrive, "" for none
		want  backends.State
		n     int // at least so many end in that state
	}{
		{"no fault", nil, "", backends.Done, 20},
		{"the answer to a send is lost", []sqstest.Rule{{Action: "SendMessageBatch", Nth: 1, Do: sqstest.DropAnswer()}}, "", "", 0},
		{"a send does not arrive", []sqstest.Rule{{Action: "SendMessageBatch", Nth: 1, Do: sqstest.DropRequest()}}, "", "", 0},
		{"SQS fails at a send", []sqstest.Rule{{Action: "SendMessageBatch", Nth: 1, Do: sqstest.Status(500)}}, "", "", 0},
		{"entries are refused", []sqstest.Rule{{Action: "SendMessageBatch", Do: sqstest.FailEntries("InvalidMessageContents", true, odd)}}, "", backends.Failed, 5},
		{"entries fail", []sqstest.Rule{{Action: "SendMessageBatch", Do: sqstest.FailEntries("InternalError", false, odd)}}, "", backends.Doubtful, 5},
		{"entries are sent and called failed", []sqstest.Rule{{Action: "SendMessageBatch", Do: sqstest.Disown("InternalError", odd)}}, "", backends.Doubtful, 5},
		{"sends are throttled once", []sqstest.Rule{{Action: "SendMessageBatch", Nth: 1, Do: sqstest.Throttled()}}, "", backends.Done, 20},
		{"sending is denied", []sqstest.Rule{{Action: "SendMessageBatch", Do: sqstest.AccessDenied()}}, "", backends.Failed, 20},
		{"the key may not be used", []sqstest.Rule{{Action: "SendMessageBatch", Do: sqstest.KmsAccessDenied.Refuses()}}, "", backends.Failed, 20},
		{"deleting is denied", []sqstest.Rule{{Action: "DeleteMessageBatch", Do: sqstest.AccessDenied()}}, backends.NoAccess, backends.Done, 1},
		{"the answer to a deletion is lost", []sqstest.Rule{{Action: "DeleteMessageBatch", Nth: 1, Do: sqstest.DropAnswer()}}, "", backends.Done, 20},
		{"entries are not deleted", []sqstest.Rule{{Action: "DeleteMessageBatch", Nth: 1, Do: sqstest.FailEntries("InternalError", false, odd)}}, "", backends.Done, 20},
		{"messages come twice", []sqstest.Rule{{Action: "ReceiveMessage", Do: sqstest.Twice()}}, "", backends.Done, 20},
		{"messages come out of order", []sqstest.Rule{{Action: "ReceiveMessage", Do: sqstest.Reverse()}}, "", backends.Done, 20},
		{"few come at once", []sqstest.Rule{{Action: "ReceiveMessage", Do: sqstest.Short(1)}}, "", backends.Done, 20},
		{"some polls are empty", []sqstest.Rule{{Action: "ReceiveMessage", From: 1, To: 3, Do: sqstest.Empty()}}, "", backends.Done, 20},
		{"receiving is denied", []sqstest.Rule{{Action: "ReceiveMessage", Do: sqstest.AccessDenied()}}, backends.NoAccess, "", 20},
		{"too many are in flight", []sqstest.Rule{{Action: "ReceiveMessage", Do: sqstest.OverLimit()}}, backends.Busy, "", 20},
		{"the queue is gone", []sqstest.Rule{{Action: "GetQueueAttributes", Do: sqstest.NoQueue()}}, backends.BadMapping, "", 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sqstest.Each(t, func(t *testing.T, server sqstest.Server) {
				for name, fifo := range map[string]bool{"standard": false, "FIFO": true} {
					t.Run(name, func(t *testing.T) {
						f := newFaulty(t, server, fifo)
						err := f.run(tt.rules...)
						if e, ok := errors.AsType[*backends.Error](err); (err == nil) != (tt.fails == "") || err != nil && (!ok || e.Code != tt.fails) {
							t.Errorf("the redrive ended with %v, want code %q", err, tt.fails)
						}
						if count := f.judge(); tt.n > 0 && count[tt.want] < tt.n && !fifo {
							t.Errorf("%v, want %d %q", count, tt.n, tt.want)
						}
					})
				}
			})
		})
	}
}
