package sqstest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Move is the bare mover that others are measured against: each worker receives
// ten, sends them on with body and attributes, and deletes what was sent, until
// there is none but in flight. It has no journal, looks at nothing and asks nobody. It
// returns how many it moved.
func Move(t testing.TB, from, to Queue, workers int) int {
	t.Helper()
	var moved atomic.Int64
	for !t.Failed() {
		if left := from.Count(t); left.Visible+left.Delayed == 0 {
			break // a busy server's answer may be empty before
		}
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for !t.Failed() {
					got := from.Receive(t.Context(), t, 0)
					if len(got) == 0 {
						return
					}
					from.remove(t.Context(), t, to.sendOn(t, got))
					moved.Add(int64(len(got)))
				}
			})
		}
		group.Wait()
	}
	return int(moved.Load())
}

// sendOn returns the messages that were sent.
func (q Queue) sendOn(t testing.TB, messages []types.Message) (sent []types.Message) {
	in := &sqs.SendMessageBatchInput{QueueUrl: &q.URL}
	for i, m := range messages {
		id := strconv.Itoa(i)
		e := types.SendMessageBatchRequestEntry{Id: &id, MessageBody: m.Body, MessageAttributes: m.MessageAttributes}
		if group := m.Attributes["MessageGroupId"]; group != "" {
			e.MessageGroupId = &group
		}
		if m.Attributes["MessageDeduplicationId"] != "" {
			e.MessageDeduplicationId = m.MessageId // new to the queue, unless it was moved to it before
		}
		in.Entries = append(in.Entries, e)
	}
	out, err := q.Client.SendMessageBatch(t.Context(), in)
	if err != nil || len(out.Failed) > 0 {
		t.Errorf("sending on to %s of %s: %v, %v", q.Name, q.Server.Name, out, err)
		return nil
	}
	return messages
}
