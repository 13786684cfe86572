package sqs

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// hand holds messages that were received and not yet given back or deleted. Of a
// message that came twice the newest receipt handle counts: an older one may have
// no effect (DeleteMessage).
type hand struct {
	s *Store
	q *queue

	mu      sync.Mutex
	handles map[string]string // by message id
}

func (s *Store) hand(q *queue) *hand { return &hand{s: s, q: q, handles: map[string]string{}} }

// take holds a message; false says that it was held already.
func (h *hand) take(m *types.Message) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, held := h.handles[id(m)]
	h.handles[id(m)] = aws.ToString(m.ReceiptHandle)
	return !held
}

func (h *hand) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.handles)
}

// release takes messages out of the hand, all if none is named.
func (h *hand) release(ids ...string) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(ids) == 0 {
		out := h.handles
		h.handles = map[string]string{}
		return out
	}
	out := map[string]string{}
	for _, id := range ids {
		if handle, ok := h.handles[id]; ok {
			out[id] = handle
			delete(h.handles, id)
		}
	}
	return out
}

// handlesOf are the handles of messages in the hand, "" for one that is not.
func (h *hand) handlesOf(ids []string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = h.handles[id]
	}
	return out
}

// forget lets go of messages that are deleted.
func (h *hand) forget(ids []string) {
	if len(ids) > 0 {
		h.release(ids...)
	}
}

// backTime bounds the giving back. What is not given back by then, or cannot be,
// is hidden until its visibility runs out.
const backTime = 60 * time.Second

// giveBack makes messages visible again at once, all that are held if none is
// named. It is for every way out, so the end of ctx does not matter.
func (h *hand) giveBack(ctx context.Context, ids ...string) error {
	held := h.release(ids...)
	if len(held) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backTime)
	defer cancel()
	c, err := h.s.api(ctx)
	if err != nil {
		return err
	}
	return parallel(slices.Collect(slices.Chunk(slices.Collect(maps.Values(held)), most)), func(handles []string) error {
		entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(handles))
		for i := range handles {
			entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &handles[i], VisibilityTimeout: 0}
		}
		_, err := c.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &h.q.url, Entries: entries})
		return explain(err, "ChangeMessageVisibility", roleDLQ)
	})
}

// parallel does f with each of some things on several lanes, and answers the
// first error.
func parallel[T any](things []T, f func(T) error) (first error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := 0
	for range min(lanes, len(things)) {
		all.Go(func() {
			for {
				mu.Lock()
				if next >= len(things) {
					mu.Unlock()
					return
				}
				thing := things[next]
				next++
				mu.Unlock()
				if err := f(thing); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}
