package sqs

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// spares refuses to take messages of a dead-letter queue that has a redrive
// policy of its own where one more receive would move a message on: SQS counts
// every receive, ours too. What was never seen may have been received as often as
// the queues allow that it came from.
func (s *Store) spares(ctx context.Context, q *queue, snaps backends.Snapshots, place string) error {
	if q.redrive.Target == "" {
		return nil
	}
	most, err := s.mostReceives(ctx, q)
	if err != nil {
		return err
	}
	for snap, err := range snaps.Letters(ctx, place, backends.SnapshotQuery{}) {
		if err != nil {
			return err
		}
		var f facts
		if json.Unmarshal(snap.Facts, &f) == nil {
			most = max(most, f.Receives)
		}
	}
	if most+1 > int(q.redrive.Max) {
		return backends.Errorf(backends.Refused, nil,
			"the dead-letter queue has a redrive policy of its own, and one more receive could move messages on: some were received %d times and it allows %d", most, q.redrive.Max).
			WithHint("take the redrive policy off the dead-letter queue, or raise its maxReceiveCount")
	}
	return nil
}

// mostReceives is the largest maxReceiveCount of the queues behind a dead-letter
// queue; 1 where there is none.
func (s *Store) mostReceives(ctx context.Context, q *queue) (int, error) {
	sources, err := s.behind(ctx, q)
	if err != nil {
		return 0, err
	}
	n := 1
	for _, src := range sources {
		n = max(n, int(src.redrive.Max))
	}
	return n, nil
}

// behind are the queues whose dead letters go to q.
func (s *Store) behind(ctx context.Context, q *queue) (out []*queue, err error) {
	c, err := s.api(ctx)
	if err != nil {
		return nil, err
	}
	pages := sqs.NewListDeadLetterSourceQueuesPaginator(c, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &q.url, MaxResults: ptr(int32(100))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if codeOf(err) == "InvalidAction" { // an endpoint that does not know the question
			return nil, nil
		}
		if err != nil {
			return nil, explain(err, "ListDeadLetterSourceQueues", roleDLQ)
		}
		for _, url := range page.QueueUrls {
			a, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
			if err != nil {
				return nil, explain(err, "GetQueueAttributes", roleSource)
			}
			out = append(out, readQueue(url, a.Attributes))
		}
	}
	return out, nil
}

func ptr[T any](v T) *T { return &v }
