package backendtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// lie is a fault that the suite must find.
type lie string

// toy is a store in memory, correct but for its lie.
type toy struct {
	mu       sync.Mutex
	lie      lie
	rows     map[string]*toyRow
	receipts map[string]bool
	next     int
	clock    time.Time
}

type toyRow struct {
	id, queue, err, job string
	body                []byte
	priority            int
	died                time.Time
	dead                bool
}

func newToy(l lie) *toy {
	return &toy{lie: l, rows: map[string]*toyRow{}, receipts: map[string]bool{}, clock: time.Now().UTC().Add(-time.Hour)}
}

func (y *toy) tick() time.Time {
	y.clock = y.clock.Add(time.Millisecond)
	return y.clock
}

func (y *toy) bench() Bench {
	locked := func(do func(*toyRow)) func(testing.TB, string) {
		return func(_ testing.TB, id string) {
			y.mu.Lock()
			defer y.mu.Unlock()
			do(y.rows[id])
		}
	}
	kill := func(queue string, l Letter) string {
		y.next++
		id := strconv.Itoa(y.next)
		y.rows[id] = &toyRow{id: id, queue: queue, err: l.Error, job: l.Job, body: l.Body, died: y.tick(), dead: true}
		return id
	}
	return Bench{
		Queue: "jobs",
		Open:  func(testing.TB) backends.Store { return toyStore{y} },
		Kill: func(_ testing.TB, ls []Letter) (ids []string) {
			y.mu.Lock()
			defer y.mu.Unlock()
			for _, l := range ls {
				ids = append(ids, kill("jobs", l))
			}
			return ids
		},
		KillElsewhere: func(_ testing.TB, l Letter) string {
			y.mu.Lock()
			defer y.mu.Unlock()
			return kill("mail", l)
		},
		Revive:    locked(func(r *toyRow) { r.dead = false }),
		KillAgain: locked(func(r *toyRow) { r.dead, r.died = true, y.tick() }),
		Touch:     locked(func(r *toyRow) { r.priority++ }),
		Remove:    locked(func(r *toyRow) { delete(y.rows, r.id) }),
		Ready: func(testing.TB) (out []Job) {
			y.mu.Lock()
			defer y.mu.Unlock()
			for _, r := range y.rows {
				if !r.dead && r.queue == "jobs" {
					out = append(out, Job{r.id, r.body})
				}
			}
			return out
		},
		Take: func(testing.TB) {
			y.mu.Lock()
			defer y.mu.Unlock()
			for id, r := range y.rows {
				if !r.dead {
					delete(y.rows, id)
				}
			}
		},
		Facts: Facts{Reason: true, Dead: true, Job: true, KeepsBytes: true, Patches: true},
	}
}

// toyStore is one connection to a toy.
type toyStore struct{ *toy }

func (s toyStore) is(l lie) bool { return s.lie == l }

func (s toyStore) Can(string) backends.Can {
	return backends.Can{Random: true, Atomic: true, Ordered: true, Dated: true, Batch: 500, CountCap: 1000, Effect: "the row is queued again"}
}

func (s toyStore) Target(context.Context, string) (backends.Target, error) {
	return backends.Target{Store: "toy", Place: "toy", Selector: "jobs"}, nil
}

func (s toyStore) Close() error { return nil }

func (s toyStore) known(queue string) error {
	if queue != "jobs" {
		if s.is("quotes the store in errors") {
			return backends.Errorf(backends.BadMapping, fmt.Errorf("no queue %s", queue), "no queue %s", queue)
		}
		return backends.Errorf(backends.BadMapping, nil, "there is no such queue")
	}
	return nil
}

func (s toyStore) Depth(_ context.Context, queue string) (d backends.Depth, err error) {
	if err := s.known(queue); err != nil {
		return d, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.dead && (r.queue == queue) {
			d.Letters++
			d.Newest = r.died
		}
	}
	d.Oldest, d.Newest = s.clock.Add(-time.Hour), s.clock
	return d, nil
}

func (s toyStore) Now(_ context.Context, queue string) (time.Time, error) {
	return time.Now(), s.known(queue)
}

func (s toyStore) ref(r *toyRow) (backends.Ref, *backends.Envelope) {
	e := backends.NewEnvelope(true)
	e.Add("body", r.body)
	if !s.is("seals the body alone") {
		e.Add("priority", []byte(strconv.Itoa(r.priority)))
	}
	mark := r.died.Format(time.RFC3339Nano)
	if s.is("forgets which death") {
		mark = ""
	}
	return backends.Ref{Queue: "jobs", ID: r.id, Mark: mark, Digest: e.Digest()}, e
}

func (s toyStore) Scan(ctx context.Context, q backends.Query) iter.Seq2[*backends.DeadLetter, error] {
	return func(yield func(*backends.DeadLetter, error) bool) {
		after, err := time.Parse(time.RFC3339Nano, q.After)
		if q.After != "" && err != nil {
			yield(nil, backends.Errorf(backends.BadPosition, err, "that is no position"))
			return
		}
		for _, l := range s.sorted(q) {
			if q.After != "" && !l.Times.Dead.Before(after) || !q.AsOf.IsZero() && l.Times.Dead.After(q.AsOf) && !s.is("ignores as of") {
				continue
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (s toyStore) sorted(q backends.Query) (out []*backends.DeadLetter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.dead && s.selected(q, r) {
			out = append(out, s.letter(q, r))
		}
	}
	slices.SortFunc(out, func(a, b *backends.DeadLetter) int { return b.Times.Dead.Compare(a.Times.Dead) })
	if s.is("lists oldest first") {
		slices.Reverse(out)
	}
	return out
}

func (s toyStore) selected(q backends.Query, r *toyRow) bool {
	asked := q.IDs == nil || slices.Contains(q.IDs, r.id)
	if s.is("takes 07 for 7") {
		asked = asked || slices.ContainsFunc(q.IDs, func(id string) bool { return strings.TrimLeft(id, "0 ") == r.id })
	}
	if s.is("yields letters of other queues") {
		return asked
	}
	return asked && r.queue == q.Queue
}

func (s toyStore) letter(q backends.Query, r *toyRow) *backends.DeadLetter {
	ref, e := s.ref(r)
	l := &backends.DeadLetter{
		Ref:      ref,
		Reason:   backends.Reason{Message: backends.Hostile(r.err), Verdict: backends.Unknown, Source: "row"},
		Payload:  backends.Payload{Size: len(r.body)},
		Attempts: backends.Attempts{Made: -1, Limit: -1},
		Times:    backends.Times{Dead: r.died},
		Origin:   backends.Origin{Job: backends.Hostile(r.job)},
		After:    r.died.Format(time.RFC3339Nano),
	}
	if s.is("invents facts") {
		l.Attempts.Made, l.Times.Enqueued = 0, r.died
	}
	if q.Bodies || s.is("reads bodies unasked") {
		l.Payload.Bytes, l.Envelope = r.body, e.Bytes()
		if s.is("rewrites bodies") {
			l.Payload.Bytes = []byte(strings.ReplaceAll(string(r.body), " ", ""))
		}
	}
	return l
}
