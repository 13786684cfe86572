package sqstest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Letter is a message as a producer sends it.
type Letter struct {
	Body       string
	Attributes map[string]types.MessageAttributeValue
	Group      string // FIFO: "" is "g". Standard: the tenant, if any
	Dedup      string // FIFO: "" is one of its own
	Trace      string // AWSTraceHeader
}

// Numbered is n letters with the bodies {"n":0}, {"n":1} and so on.
func Numbered(n int) []Letter {
	letters := make([]Letter, n)
	for i := range letters {
		letters[i].Body = `{"n":` + strconv.Itoa(i) + `}`
	}
	return letters
}

const (
	senders  = 8
	batch    = 10      // entries of a request
	maxBytes = 1 << 20 // of a request's messages
)

// Send puts letters into the queue and returns their ids in the same order. A
// standard queue gets them eight requests at a time, a FIFO queue one by one, so
// that they keep their order.
func (q Queue) Send(t testing.TB, letters ...Letter) (ids []string) {
	t.Helper()
	ids = make([]string, len(letters))
	fifo := q.Attributes(t)["FifoQueue"] == "true"
	workers := senders
	if fifo {
		workers = 1
	}
	attempt := rand.Text() // no later Send may look like this one again
	type part struct{ from, to int }
	parts := make(chan part)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for p := range parts {
				q.sendBatch(t, fifo, letters[p.from:p.to], ids[p.from:p.to], fmt.Sprintf("%s-%d", attempt, p.from))
			}
		})
	}
	for from := 0; from < len(letters); {
		to := upTo(letters, from)
		parts <- part{from, to}
		from = to
	}
	close(parts)
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return ids
}

// Fill puts n numbered letters into the queue.
func (q Queue) Fill(t testing.TB, n int) []string {
	t.Helper()
	return q.Send(t, Numbered(n)...)
}

// upTo is the end of the request that begins at from.
func upTo(letters []Letter, from int) int {
	size := 0
	for i := from; i < len(letters); i++ {
		size += letters[i].size()
		if i > from && (i-from == batch || size > maxBytes) {
			return i
		}
	}
	return len(letters)
}

func (l Letter) size() int {
	size := len(l.Body)
	for name, value := range l.Attributes {
		size += len(name) + len(*value.DataType) + len(value.BinaryValue)
		if value.StringValue != nil {
			size += len(*value.StringValue)
		}
	}
	return size
}

// sendBatch runs beside the test's own goroutine, so it fails without ending it.
func (q Queue) sendBatch(t testing.TB, fifo bool, letters []Letter, ids []string, request string) {
	in := &sqs.SendMessageBatchInput{QueueUrl: &q.URL}
	for i, l := range letters {
		in.Entries = append(in.Entries, l.entry(i, fifo, fmt.Sprintf("%s-%d", request, i)))
	}
	out, err := q.Client.SendMessageBatch(context.Background(), in)
	if err != nil {
		t.Errorf("sending to %s of %s: %v", q.Name, q.Server.Name, err)
		return
	}
	for _, failed := range out.Failed {
		t.Errorf("sending to %s of %s: %s %s", q.Name, q.Server.Name, *failed.Code, *failed.Message)
	}
	for _, sent := range out.Successful {
		i, _ := strconv.Atoi(*sent.Id)
		ids[i] = *sent.MessageId
	}
}

func (l Letter) entry(i int, fifo bool, dedup string) types.SendMessageBatchRequestEntry {
	id, body, group := strconv.Itoa(i), l.Body, l.Group
	e := types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body, MessageAttributes: l.Attributes}
	if fifo {
		if group == "" {
			group = "g"
		}
		if l.Dedup != "" {
			dedup = l.Dedup
		}
		e.MessageDeduplicationId = &dedup
	}
	if group != "" {
		e.MessageGroupId = &group
	}
	if kind, trace := "String", l.Trace; trace != "" {
		e.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: &kind, StringValue: &trace}}
	}
	return e
}
