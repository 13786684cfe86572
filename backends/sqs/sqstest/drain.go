package sqstest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Drain receives and deletes all that is in the queue, with all attributes, and
// waits for what is in flight or delayed to become visible: a consumer that
// finishes everything. The order is no one's.
func (q Queue) Drain(t testing.TB) []types.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all := q.take(ctx, t, senders, 0)
	for {
		left := q.Count(t)
		if left.All() == 0 {
			return all
		}
		if ctx.Err() != nil || t.Failed() {
			t.Fatalf("%s of %s does not become empty: after %d were taken it holds %+v", q.Name, q.Server.Name, len(all), left)
		}
		all = append(all, q.take(ctx, t, 1, 1)...)
	}
}

// Bodies counts each body.
func Bodies(messages []types.Message) map[string]int {
	counts := map[string]int{}
	for _, m := range messages {
		counts[*m.Body]++
	}
	return counts
}

// take has workers that each end at an empty answer, or at their first when they
// wait for it.
func (q Queue) take(ctx context.Context, t testing.TB, workers int, wait int32) (all []types.Message) {
	var group sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				got := q.Receive(ctx, t, wait)
				if len(got) == 0 {
					return
				}
				q.remove(ctx, t, got)
				mu.Lock()
				all = append(all, got...)
				mu.Unlock()
				if wait > 0 {
					return
				}
			}
		})
	}
	group.Wait()
	return all
}

// Receive takes up to ten messages with all they have, and hides them for a
// minute. It waits up to the given seconds for the first. It may run beside the
// test's own goroutine.
func (q Queue) Receive(ctx context.Context, t testing.TB, wait int32) []types.Message {
	got, err := q.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.URL, MaxNumberOfMessages: batch, VisibilityTimeout: 60, WaitTimeSeconds: wait,
		//lint:ignore SA1019 one of the test servers knows no other
		AttributeNames:              []types.QueueAttributeName{types.QueueAttributeNameAll},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		t.Errorf("receiving from %s of %s: %v", q.Name, q.Server.Name, err)
		return nil
	}
	return got.Messages
}

func (q Queue) remove(ctx context.Context, t testing.TB, messages []types.Message) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.URL}
	for i, m := range messages {
		id := strconv.Itoa(i)
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle})
	}
	out, err := q.Client.DeleteMessageBatch(ctx, in)
	if err != nil {
		t.Errorf("deleting from %s of %s: %v", q.Name, q.Server.Name, err)
		return
	}
	for _, failed := range out.Failed {
		t.Errorf("deleting from %s of %s: %s", q.Name, q.Server.Name, *failed.Code)
	}
}

// IDs are the ids of messages, sorted.
func IDs(messages []types.Message) []string {
	var ids []string
	for _, m := range messages {
		ids = append(ids, *m.MessageId)
	}
	slices.Sort(ids)
	return ids
}
