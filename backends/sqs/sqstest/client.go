package sqstest

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Client talks to the server or the proxy at an endpoint, with a key that every
// test server takes. The endpoint "" is AWS in the region that
// REDRIVE_TEST_SQS_AWS names, with the caller's own credentials.
func Client(t testing.TB, endpoint string, change ...func(*sqs.Options)) *sqs.Client {
	t.Helper()
	load := []func(*config.LoadOptions) error{config.WithRegion(os.Getenv("REDRIVE_TEST_SQS_AWS"))}
	if endpoint != "" {
		none := []string{} // nobody's profile decides about a test
		load = []func(*config.LoadOptions) error{config.WithRegion("us-east-1"), config.WithBaseEndpoint(endpoint),
			config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")),
			config.WithSharedConfigFiles(none), config.WithSharedCredentialsFiles(none)}
	}
	cfg, err := config.LoadDefaultConfig(t.Context(), load...)
	if err != nil {
		t.Fatalf("configuring a client of SQS: %v", err)
	}
	whole := func(o *sqs.Options) { o.HTTPClient = wholeBody{o.HTTPClient} }
	return sqs.NewFromConfig(cfg, append(change, whole)...)
}

// wholeBody sends a copy of a request's body. The SDK closes its own as soon as
// the answer begins; where the transport is still at its end, it takes that for
// a failure to write and closes the connection under the answer, whose messages
// are then lost until their visibility runs out.
type wholeBody struct{ next sqs.HTTPClient }

func (c wholeBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return c.next.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return c.next.Do(r)
}
