package sqstest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

// late is a transport that is still at the end of the request when the answer
// has begun: it keeps the body and reads on later.
type late struct{ body io.Reader }

func (c *late) Do(r *http.Request) (*http.Response, error) {
	c.body = r.Body
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// TestWholeBody: the end of an operation ends no body that is still being sent.
// The transport would take that for a failure and cut the answer off.
func TestWholeBody(t *testing.T) {
	transport := &late{}
	client := sqstest.Client(t, "http://127.0.0.1:1", func(o *sqs.Options) { o.HTTPClient = transport })
	if _, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: ptr("q")}); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, transport.body); err != nil || n == 0 {
		t.Errorf("the rest of the body: %d bytes, %v", n, err)
	}
}

// TestNothingLost: every batch that the fast server hands out arrives. Without
// whole bodies about one in some thousand answers is cut off here, and their
// messages stay in flight.
func TestNothingLost(t *testing.T) {
	const n = 20_000
	for _, s := range sqstest.Servers(t) {
		if s.Name != "fauxqs" {
			continue // it answers too slowly for the fault
		}
		q := s.Create(t, map[string]string{"VisibilityTimeout": "600"})
		letters := sqstest.Numbered(n)
		for i := range letters {
			letters[i].Body += strings.Repeat(" ", 600) // an answer is longer than what is read at once
		}
		q.Send(t, letters...)
		seen := map[string]bool{}
		for {
			got, err := q.Client.ReceiveMessage(t.Context(), receive(q, 10))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Messages) == 0 {
				break
			}
			for _, m := range got.Messages {
				seen[*m.MessageId] = true
			}
		}
		if len(seen) != n {
			t.Errorf("%d of %d messages arrived from %s", len(seen), n, s.Name)
		}
	}
}
