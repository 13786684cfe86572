package sqstest_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

var fifo = map[string]string{"FifoQueue": "true"}

// facts looks at a server for each of the Facts.
var facts = map[string]func(*testing.T, sqstest.Server) bool{
	"MoveTasks": func(t *testing.T, s sqstest.Server) bool {
		p := s.Pair(t, sqstest.Options{})
		_, err := p.Dead.Client.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: &p.Dead.ARN})
		return err == nil
	},
	"ListSources": func(t *testing.T, s sqstest.Server) bool {
		p := s.Pair(t, sqstest.Options{})
		got, err := p.Dead.Client.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &p.Dead.URL})
		return err == nil && slices.Equal(got.QueueUrls, []string{p.Source.URL})
	},
	"SourceARN": func(t *testing.T, s sqstest.Server) bool {
		p := s.Pair(t, sqstest.Options{})
		p.Die(t, sqstest.Numbered(1)...)
		return one(t, p.Dead).Attributes["DeadLetterQueueSourceArn"] == p.Source.ARN
	},
	"TraceHeader": func(t *testing.T, s sqstest.Server) bool {
		p := s.Pair(t, sqstest.Options{})
		const trace = "Root=1-5e3d83c1-e6a0db584850d61342823d4c;Parent=15df0de2f0c1a1b1;Sampled=1"
		p.Die(t, sqstest.Letter{Body: "x", Trace: trace})
		return one(t, p.Dead).Attributes["AWSTraceHeader"] == trace
	},
	"FairGroup": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		q.Send(t, sqstest.Letter{Body: "x", Group: "tenant"})
		return one(t, q).Attributes["MessageGroupId"] == "tenant"
	},
	"ChecksDLQ": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		nowhere := sqstest.Queue{ARN: q.ARN + "-nowhere"}
		_, err := q.Client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.URL, Attributes: map[string]string{"RedrivePolicy": sqstest.RedrivePolicy(nowhere, 1)}})
		return err != nil
	},
	"ChecksHandles": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		_, err := q.Client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &q.URL, ReceiptHandle: ptr("made-up")})
		return err != nil
	},
	"ChecksDelay": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		return failsAlone(t, q, types.SendMessageBatchRequestEntry{MessageBody: ptr("x"), DelaySeconds: 901}, types.SendMessageBatchRequestEntry{MessageBody: ptr("x")})
	},
	"GroupBatch": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, fifo)
		q.Fill(t, 5)
		return len(q.Receive(t.Context(), t, 1)) > 1
	},
	"SystemAttributeNames": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		q.Fill(t, 1)
		in := receive(q, 1)
		in.WaitTimeSeconds, in.MessageSystemAttributeNames = 1, []types.MessageSystemAttributeName{"All"}
		got, err := q.Client.ReceiveMessage(t.Context(), in)
		return err == nil && len(got.Messages) == 1 && got.Messages[0].Attributes["SentTimestamp"] != ""
	},
	"SentTimestampKept": func(t *testing.T, s sqstest.Server) bool {
		p := s.Pair(t, sqstest.Options{Source: map[string]string{"VisibilityTimeout": "1"}})
		p.Source.Fill(t, 1)
		one(t, p.Source)
		before := time.Now() // it dies a second later
		in := receive(p.Source, 1)
		in.WaitTimeSeconds = 1
		for p.Dead.Count(t).All() == 0 && t.Context().Err() == nil {
			if _, err := p.Source.Client.ReceiveMessage(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		sent, _ := strconv.ParseInt(one(t, p.Dead).Attributes["SentTimestamp"], 10, 64)
		return time.UnixMilli(sent).Before(before)
	},
	"MovesOnReceive": func(t *testing.T, s sqstest.Server) bool {
		p := s.Pair(t, sqstest.Options{})
		p.Source.Fill(t, 1)
		m := one(t, p.Source)
		if _, err := p.Source.Client.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &p.Source.URL, ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		return len(p.Dead.Receive(t.Context(), t, 1)) == 0
	},
	"ExactCounts": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		q.Fill(t, 1)
		one(t, q)
		return q.Attributes(t)["ApproximateNumberOfMessages"] == "0"
	},
	"PurgesAtOnce": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		q.Fill(t, 1)
		if _, err := q.Client.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.URL}); err != nil {
			t.Fatal(err)
		}
		return q.Count(t).All() == 0
	},
	"LongPolls": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		q.Fill(t, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		in := receive(q, 10)
		in.WaitTimeSeconds = 2
		got, err := q.Client.ReceiveMessage(ctx, in)
		return err == nil && len(got.Messages) == 1
	},
	"GroupBlocking": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, fifo)
		q.Fill(t, 2)
		one(t, q)
		in := receive(q, 1)
		in.WaitTimeSeconds = 1
		got, err := q.Client.ReceiveMessage(t.Context(), in)
		return err == nil && len(got.Messages) == 0
	},
	"ChecksGroup": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, fifo)
		return failsAlone(t, q, types.SendMessageBatchRequestEntry{MessageBody: ptr("x"), MessageDeduplicationId: ptr("1")},
			types.SendMessageBatchRequestEntry{MessageBody: ptr("x"), MessageDeduplicationId: ptr("2"), MessageGroupId: ptr("g")})
	},
	"DedupAfterDelete": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, fifo)
		q.Send(t, sqstest.Letter{Body: "x", Dedup: "same"})
		q.Drain(t)
		q.Send(t, sqstest.Letter{Body: "x", Dedup: "same"})
		return q.Count(t).All() == 0
	},
	"ChecksCharacters": func(t *testing.T, s sqstest.Server) bool {
		q := s.Create(t, nil)
		return failsAlone(t, q, types.SendMessageBatchRequestEntry{MessageBody: ptr("\x01")}, types.SendMessageBatchRequestEntry{MessageBody: ptr("x")})
	},
}

// one receives one message.
func one(t *testing.T, q sqstest.Queue) types.Message {
	t.Helper()
	in := receive(q, 1)
	//lint:ignore SA1019 one of the test servers knows no other
	in.AttributeNames = []types.QueueAttributeName{"All"}
	in.WaitTimeSeconds, in.MessageSystemAttributeNames = 5, []types.MessageSystemAttributeName{"All"}
	got, err := q.Client.ReceiveMessage(t.Context(), in)
	if err != nil || len(got.Messages) != 1 {
		t.Fatalf("receiving from %s: %v, %v", q.Name, got, err)
	}
	return got.Messages[0]
}

// failsAlone sends both in a batch, and reports whether the first alone failed.
func failsAlone(t *testing.T, q sqstest.Queue, bad, good types.SendMessageBatchRequestEntry) bool {
	t.Helper()
	bad.Id, good.Id = ptr("bad"), ptr("good")
	out, err := q.Client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: []types.SendMessageBatchRequestEntry{bad, good}})
	return err == nil && len(out.Failed) == 1 && *out.Failed[0].Id == "bad" && len(out.Successful) == 1
}

// TestFacts: a server does what its Facts say, and does not do what they deny;
// each is true of one test server at least.
func TestFacts(t *testing.T) {
	servers := sqstest.Servers(t)
	if s, ok := sqstest.AWS(t); ok {
		servers = append(servers, s)
	}
	names := reflect.TypeFor[sqstest.Facts]()
	for i := range names.NumField() {
		name := names.Field(i).Name
		look, known := facts[name]
		if !known {
			t.Errorf("nothing looks at the fact %s", name)
			continue
		}
		somewhere := false
		for _, s := range servers {
			said := reflect.ValueOf(s.Facts).Field(i).Bool()
			somewhere = somewhere || said && s.Endpoint != ""
			t.Run(name+"/"+s.Name, func(t *testing.T) {
				if seen := look(t, s); seen != said {
					t.Errorf("%v is seen, the Facts say %v", seen, said)
				}
			})
		}
		if !somewhere {
			t.Errorf("%s is true of no test server", name)
		}
	}
	if extra := len(facts) - names.NumField(); extra != 0 {
		t.Errorf("%d things are looked at that are no facts, among %v", extra, slices.Sorted(maps.Keys(facts)))
	}
}
