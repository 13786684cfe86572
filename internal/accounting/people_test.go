package accounting

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"
)

func mustJSON(text string) json.RawMessage { return json.RawMessage(text) }

// waiting is a request as `pending --json` tells it.
type waiting struct {
	RequestID string `json:"request_id"`
	Status    string
	Digest    string
	Queue     string
	Unknown   int
}

// pending lists the open requests; not ok if the command was killed or failed.
func (w *world) pending(kill time.Duration) (list []waiting, ok bool) {
	res := w.command("pending", kill, "pending", "--json", "--as", "ana")
	if res.code != 0 {
		return nil, false
	}
	var out struct{ Requests []waiting }
	if err := json.Unmarshal(res.out, &out); err != nil {
		w.fault("pending: %v: %s", err, res.out)
		return nil, false
	}
	return out.Requests, true
}

// approver decides, over and over, and is killed now and then.
func (w *world) approver(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(rnd.IntN(60))*time.Millisecond)
		open, ok := w.pending(w.maybe(rnd, "pending", 20))
		open = slices.DeleteFunc(open, func(q waiting) bool { return q.Status != "pending_approval" })
		if ok && len(open) > 0 {
			w.decide(rnd, open[rnd.IntN(len(open))])
		}
	}
}

func (w *world) decide(rnd *rand.Rand, q waiting) {
	who := people[rnd.IntN(len(people))]
	switch n := rnd.IntN(20); {
	case n < 13:
		args := []string{"approve", q.RequestID, "--digest", q.Digest, "--json", "--as", who}
		if rnd.IntN(2) == 0 {
			args = append(args, "--no-run")
		}
		w.command("approve", w.maybe(rnd, "approve", 3), args...)
	case n < 15:
		w.command("deny", w.maybe(rnd, "deny", 4), "deny", q.RequestID, "--reason", "not now", "--as", who)
	case n < 16:
		w.command("cancel", w.maybe(rnd, "cancel", 4), "cancel", q.RequestID, "--reason", "not now", "--as", who)
	case n < 18:
		w.command("show", -1, "show", q.RequestID, "--json", "--as", who)
	default:
		w.command("queues", w.maybe(rnd, "queues", 10), "queues", "--json", "--as", who)
	}
}

// maybe is a moment for a kill, one time in n, else never.
func (w *world) maybe(rnd *rand.Rand, kind string, n int) time.Duration {
	if rnd.IntN(n) > 0 {
		return -1
	}
	return w.procs.moment(rnd, kind)
}

// runner runs what is approved, once or as it comes, and is killed often.
func (w *world) runner(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(rnd.IntN(80))*time.Millisecond)
		who := people[rnd.IntN(len(people))]
		if rnd.IntN(4) > 0 {
			w.command("run", w.maybe(rnd, "run", 2), "run", "--json", "--as", who)
			continue
		}
		w.command("watch", time.Duration(rnd.IntN(1500))*time.Millisecond, "run", "--watch", "--every", "100ms", "--json", "--as", who)
	}
}
