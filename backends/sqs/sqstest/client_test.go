package sqstest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

// TestClientAsks: the client speaks to the endpoint it was given, in JSON.
func TestClientAsks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if target := r.Header.Get("X-Amz-Target"); target != "AmazonSQS.GetQueueUrl" {
			t.Errorf("asked for %q", target)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Write([]byte(`{"QueueUrl":"http://127.0.0.1/1/q"}`))
	}))
	defer server.Close()
	got, err := sqstest.Client(t, server.URL).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")})
	if err != nil || aws.ToString(got.QueueUrl) != "http://127.0.0.1/1/q" {
		t.Fatalf("%v, %v", got, err)
	}
}
