package sqs

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The roles of queues, as errors name them.
const (
	roleDLQ         = "the dead-letter queue"
	roleDestination = "the destination"
	roleSource      = "the queue that the letters came from"
)

// queue is a queue as SQS describes it now.
type queue struct {
	url, arn string
	// visible is the store's count of messages that can be received; held are in
	// flight, late are delayed. All are approximate (GetQueueAttributes).
	visible, held, late int
	retention           time.Duration
	visibility          time.Duration
	largest             int           // bytes of a message, attributes included
	redrive             redrivePolicy // of the queue itself
}

// redrivePolicy is where messages of a queue go after how many receives.
type redrivePolicy struct {
	Target string `json:"deadLetterTargetArn"`
	Max    number `json:"maxReceiveCount"`
}

// number is written as a JSON number or as a string; both are in use.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.Atoi(strings.Trim(string(b), `"`))
	*n = number(v)
	return err
}

func (q *queue) fifo() bool   { return strings.HasSuffix(q.arn, ".fifo") }
func (q *queue) name() string { return q.arn[strings.LastIndexByte(q.arn, ':')+1:] }

// describe asks for a queue's attributes.
func (s *Store) describe(ctx context.Context, n name, role string) (*queue, error) {
	c, err := s.api(ctx)
	if err != nil {
		return nil, err
	}
	url, err := s.url(ctx, c, n, role)
	if err != nil {
		return nil, err
	}
	out, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		s.forget(n) // it may have been deleted and made anew
		return nil, explain(err, "GetQueueAttributes", role)
	}
	return readQueue(url, out.Attributes), nil
}

// readQueue leaves at zero what is absent or no number.
func readQueue(url string, a map[string]string) *queue {
	q := &queue{
		url: url, arn: a["QueueArn"],
		visible: atoi(a["ApproximateNumberOfMessages"]), held: atoi(a["ApproximateNumberOfMessagesNotVisible"]), late: atoi(a["ApproximateNumberOfMessagesDelayed"]),
		retention:  time.Duration(atoi(a["MessageRetentionPeriod"])) * time.Second,
		visibility: time.Duration(atoi(a["VisibilityTimeout"])) * time.Second,
		largest:    atoi(a["MaximumMessageSize"]),
	}
	_ = json.Unmarshal([]byte(a["RedrivePolicy"]), &q.redrive) // absent or not ours to read: none
	return q
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// url asks for the URL of a queue once.
func (s *Store) url(ctx context.Context, c *sqs.Client, n name, role string) (string, error) {
	s.mu.Lock()
	url := s.urls[n]
	s.mu.Unlock()
	if url != "" {
		return url, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &n.queue}
	if n.account != "" {
		in.QueueOwnerAWSAccountId = &n.account
	}
	out, err := c.GetQueueUrl(ctx, in)
	if err != nil {
		return "", explain(err, "GetQueueUrl", role)
	}
	s.mu.Lock()
	s.urls[n] = aws.ToString(out.QueueUrl)
	s.mu.Unlock()
	return aws.ToString(out.QueueUrl), nil
}

func (s *Store) forget(n name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.urls, n)
}
