package sqstest

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// patience is how long a queue may take to come to where a test needs it.
const patience = 2 * time.Minute

// Die sends letters to the source and lets each receive of them fail, until SQS
// itself has moved all of them to the dead; it returns their ids, which they
// keep. What else is in the source dies too. In which order they arrive among
// the dead is the server's affair.
//
// A letter that need not have died, only be there, comes sooner by Dead.Send.
func (p Pair) Die(t testing.TB, letters ...Letter) (ids []string) {
	t.Helper()
	want := p.Dead.Count(t).All() + len(letters)
	ids = p.Source.Send(t, letters...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		p.fail(ctx, t)
		if p.Dead.Count(t).All() >= want {
			return ids
		}
		if ctx.Err() != nil || t.Failed() {
			t.Fatalf("%d letters did not die; their source holds %+v", len(letters), p.Source.Count(t))
		}
	}
}

// fail receives and gives back until a receive is empty.
func (p Pair) fail(ctx context.Context, t testing.TB) {
	var group sync.WaitGroup
	for range senders {
		group.Go(func() {
			for ctx.Err() == nil {
				got, err := p.Source.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &p.Source.URL, MaxNumberOfMessages: batch, VisibilityTimeout: 30})
				if err != nil {
					t.Errorf("receiving from %s of %s: %v", p.Source.Name, p.Source.Server.Name, err)
					return
				}
				if len(got.Messages) == 0 {
					return
				}
				p.Source.giveBack(ctx, t, got.Messages)
			}
		})
	}
	group.Wait()
}

// giveBack makes messages visible at once.
func (q Queue) giveBack(ctx context.Context, t testing.TB, messages []types.Message) {
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.URL}
	for i, m := range messages {
		id := strconv.Itoa(i)
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle})
	}
	out, err := q.Client.ChangeMessageVisibilityBatch(ctx, in)
	if err != nil {
		t.Errorf("giving back to %s of %s: %v", q.Name, q.Server.Name, err)
		return
	}
	for _, failed := range out.Failed {
		t.Errorf("giving back to %s of %s: %s", q.Name, q.Server.Name, *failed.Code)
	}
}
