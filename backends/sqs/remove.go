package sqs

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// clear deletes messages that are in the hand, by id with their outcomes so far,
// and records them as done. It takes out of left what is deleted.
func (u *run) clear(ctx context.Context, left map[string]backends.Outcome) error {
	gone, err := u.search.hand.remove(ctx, slices.Collect(maps.Keys(left)))
	if len(gone) == 0 {
		return err
	}
	if e := u.done(ctx, left, gone); err == nil {
		err = e
	}
	return err
}

// done records messages as sent and gone, forgets their snapshots, and takes them
// out of left.
func (u *run) done(ctx context.Context, left map[string]backends.Outcome, gone []string) error {
	out := make([]backends.Outcome, len(gone))
	for i, id := range gone {
		out[i] = left[id]
		out[i].State = backends.Done
		delete(left, id)
	}
	if err := u.j.Record(ctx, out...); err != nil {
		return err
	}
	return u.snaps.Drop(ctx, u.r.place, gone...)
}

// removeTries is how often a removal is tried. Deleting twice does no harm.
const removeTries = 3

// remove deletes messages of the hand and answers those that SQS says are
// deleted. With an error it answers them too.
func (h *hand) remove(ctx context.Context, ids []string) (gone []string, err error) {
	for range removeTries {
		var more []string
		more, err = h.removeOnce(ctx, ids)
		gone = append(gone, more...)
		ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(more, id) })
		if err == nil || len(ids) == 0 {
			break
		}
	}
	return gone, err
}

func (h *hand) removeOnce(ctx context.Context, ids []string) (gone []string, err error) {
	c, err := h.s.api(ctx)
	if err != nil {
		return nil, err
	}
	results := make(chan string, len(ids))
	err = parallel(slices.Collect(slices.Chunk(ids, most)), func(some []string) error {
		deleted, err := h.removeSome(ctx, c, some)
		for _, id := range deleted {
			results <- id
		}
		return err
	})
	close(results)
	for id := range results {
		gone = append(gone, id)
	}
	h.forget(gone)
	return gone, err
}

func (h *hand) removeSome(ctx context.Context, c *sqs.Client, ids []string) (gone []string, err error) {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(ids))
	for i, handle := range h.handlesOf(ids) {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(handle)}
	}
	out, err := c.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &h.q.url, Entries: entries})
	if err != nil {
		return nil, explain(err, "DeleteMessage", roleDLQ)
	}
	for _, ok := range out.Successful {
		if i, err := strconv.Atoi(aws.ToString(ok.Id)); err == nil && i >= 0 && i < len(ids) {
			gone = append(gone, ids[i])
		}
	}
	for _, bad := range out.Failed {
		err = explain(failure(bad), "DeleteMessage", roleDLQ)
	}
	return gone, err
}

// removeAll finds the dead copies of what was sent, and deletes them. One that is
// not there where all was seen and nothing is in flight is gone already.
func (u *run) removeAll(ctx context.Context, sent map[string]backends.Outcome) error {
	got, err := u.search.find(ctx, len(sent))
	if err != nil {
		return err
	}
	found := map[string]backends.Outcome{}
	for _, f := range got {
		found[f.item.Ref.ID] = sent[f.item.Ref.ID]
		delete(sent, f.item.Ref.ID)
	}
	if err := u.clear(ctx, found); err != nil || len(sent) == 0 {
		return err
	}
	if !u.search.whole() {
		return backends.Errorf(backends.Busy, nil, "the dead copies of %d messages that were sent are not found, and may be in flight", len(sent)).
			WithHint("run again when their visibility has run out, %s at most after the last run", u.r.src.Look.visibility())
	}
	return u.done(ctx, sent, slices.Collect(maps.Keys(sent)))
}
