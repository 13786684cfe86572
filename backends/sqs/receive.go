package sqs

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// lanes is how many calls go at once. SQS answers each in milliseconds and hands
// out at most ten messages a call.
const lanes = 8

// most is how many messages or entries one call may have (API reference).
const most = 10

// draw receives on several lanes at once. ask says how many messages a call may
// bring, 0 to 10, and 0 ends the lane. got is told what was asked for and what came,
// one call after the other; false ends all lanes.
func (s *Store) draw(ctx context.Context, q *queue, visibility time.Duration, ask func() int, got func(asked int, msgs []types.Message) (bool, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range lanes {
		all.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				n := ask()
				mu.Unlock()
				if n <= 0 {
					return
				}
				msgs, err := s.receive(ctx, q, visibility, n)
				mu.Lock()
				more := false
				if err == nil {
					more, err = got(n, msgs)
				}
				mu.Unlock()
				if err != nil {
					cancel(err)
				} else if !more {
					cancel(errEnough)
				}
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != errEnough {
		return err
	}
	return nil
}

type enough struct{}

func (enough) Error() string { return "no more is needed" }

// errEnough ends all lanes.
var errEnough error = enough{}

// receive is one call. A call that was sent is waited for, whatever becomes of
// ctx: its answer may hold messages, which nobody else would give back.
func (s *Store) receive(ctx context.Context, q *queue, visibility time.Duration, n int) ([]types.Message, error) {
	c, err := s.api(ctx)
	if err != nil {
		return nil, err
	}
	sure, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.poll+answerTime)
	defer cancel()
	out, err := c.ReceiveMessage(sure, &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: int32(n),
		VisibilityTimeout: int32(visibility / time.Second), WaitTimeSeconds: int32(s.poll / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		//lint:ignore SA1019 the older name of the same; some servers know no other
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return nil, explain(err, "ReceiveMessage", roleDLQ)
	}
	return out.Messages, nil
}

// answerTime is how long an answer of SQS is waited for beyond a long poll.
const answerTime = 20 * time.Second

func id(m *types.Message) string { return aws.ToString(m.MessageId) }
