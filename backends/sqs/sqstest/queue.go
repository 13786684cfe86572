package sqstest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Queue is a queue that goes with its test.
type Queue struct {
	Server Server
	Name   string
	URL    string // with a name of a host that may not resolve; compare ARNs
	ARN    string
	Client *sqs.Client
}

// Create makes a queue with a random name; attributes may be nil. It is of type
// FIFO if the attribute FifoQueue says "true".
func (s Server) Create(t testing.TB, attributes map[string]string) Queue {
	t.Helper()
	name := "t-" + strings.ToLower(rand.Text()[:16])
	if attributes["FifoQueue"] == "true" {
		name += ".fifo"
	}
	q := Queue{Server: s, Name: name, Client: s.Client(t)}
	made, err := q.Client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatalf("creating a queue on %s: %v", s.Name, err)
	}
	q.URL = *made.QueueUrl
	t.Cleanup(func() {
		// The context of the test has ended.
		if _, err := q.Client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: &q.URL}); err != nil {
			t.Logf("the queue %s of %s stays behind: %v", name, s.Name, err)
		}
	})
	q.ARN = q.Attributes(t)["QueueArn"]
	return q
}

// Attributes are all that the server tells of the queue.
func (q Queue) Attributes(t testing.TB) map[string]string {
	t.Helper()
	got, err := q.Client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		t.Fatalf("asking %s for the attributes of %s: %v", q.Server.Name, q.Name, err)
	}
	return got.Attributes
}

// Count is how many messages are in a queue.
type Count struct{ Visible, InFlight, Delayed int }

// All is how many there are.
func (c Count) All() int { return c.Visible + c.InFlight + c.Delayed }

// Count asks how many messages the queue holds. Right after a send they may still
// be Delayed on local-aws-sqs, for a millisecond.
func (q Queue) Count(t testing.TB) Count {
	t.Helper()
	all := q.Attributes(t)
	var c Count
	for name, n := range map[string]*int{"": &c.Visible, "NotVisible": &c.InFlight, "Delayed": &c.Delayed} {
		*n, _ = strconv.Atoi(all["ApproximateNumberOfMessages"+name])
	}
	if !q.Server.ExactCounts {
		c.Visible -= c.InFlight
	}
	return c
}

// Options says how a pair is to be.
type Options struct {
	FIFO       bool
	MaxReceive int               // 0 is 1: the first receive that fails kills
	Source     map[string]string // attributes besides
	Dead       map[string]string
}

// Pair is a queue and the one to which SQS moves what dies in it.
type Pair struct{ Source, Dead Queue }

// Pair makes both, with the source's RedrivePolicy.
func (s Server) Pair(t testing.TB, o Options) Pair {
	t.Helper()
	dead := s.Create(t, attributes(o.FIFO, o.Dead))
	return Pair{Source: s.SourceOf(t, dead, o), Dead: dead}
}

// SourceOf makes one more queue whose dead go to the one that is given.
func (s Server) SourceOf(t testing.TB, dead Queue, o Options) Queue {
	t.Helper()
	own := attributes(o.FIFO, o.Source)
	own["RedrivePolicy"] = RedrivePolicy(dead, max(o.MaxReceive, 1))
	return s.Create(t, own)
}

func attributes(fifo bool, more map[string]string) map[string]string {
	all := map[string]string{}
	if fifo {
		all["FifoQueue"] = "true"
	}
	maps.Copy(all, more)
	return all
}

// RedrivePolicy is the attribute's value.
func RedrivePolicy(dead Queue, maxReceive int) string {
	text, _ := json.Marshal(map[string]any{"deadLetterTargetArn": dead.ARN, "maxReceiveCount": maxReceive})
	return string(text)
}
