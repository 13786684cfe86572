package sqstest

import (
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Server is a place that speaks as SQS does.
type Server struct {
	Name     string
	Endpoint string // "" is AWS
	Region   string
	Account  string // "" is not known before a queue is made
	Facts
}

// Facts is what a server does as AWS does it. Each is true of one of the two
// test servers at least, so that a check is left out for one of them and never
// for both.
type Facts struct {
	MoveTasks            bool // StartMessageMoveTask, ListMessageMoveTasks, CancelMessageMoveTask
	ListSources          bool // ListDeadLetterSourceQueues
	SourceARN            bool // DeadLetterQueueSourceArn on what SQS moved to the dead
	TraceHeader          bool // AWSTraceHeader outlives the move
	FairGroup            bool // MessageGroupId on a standard queue
	ChecksDLQ            bool // a RedrivePolicy that names no queue is refused
	ChecksHandles        bool // a made-up receipt handle is refused
	ChecksDelay          bool // DelaySeconds over 900 in an entry is refused
	GroupBatch           bool // an answer may have several messages of a FIFO group
	SystemAttributeNames bool // heeds MessageSystemAttributeNames, not only the older AttributeNames
	SentTimestampKept    bool // on a standard queue, when a message moves to the dead
	MovesOnReceive       bool // to the dead at the receive after the last one, not as soon as that one's visibility ends
	ExactCounts          bool // ApproximateNumberOfMessages leaves out what is in flight
	PurgesAtOnce         bool
	LongPolls            bool // a receive that waits is answered with the first message, not when its time is up
	GroupBlocking        bool // a message in flight hides the rest of its FIFO group
	ChecksGroup          bool // an entry for a FIFO queue without a group is refused alone, not with its batch
	DedupAfterDelete     bool // a deduplication id is known for five minutes, not only while its message is there
	ChecksCharacters     bool // a character outside XML's is refused, in its entry alone
}

// Neither server does these, so no Fact tells of them: a FIFO message's new
// deduplication id when it moves to the dead, ApproximateReceiveCount there,
// RedriveAllowPolicy's refusals, IAM, KMS, limits of messages in flight,
// throttling, and answers that are short, out of order or double. Proxy makes
// those that follow RedriveAllowPolicy.

func local() Server {
	return Server{Name: "local-aws-sqs", Endpoint: os.Getenv("REDRIVE_TEST_SQS_LOCAL"), Region: "us-east-1", Account: "123456789012", Facts: Facts{
		MoveTasks: true, ListSources: true, SourceARN: true, TraceHeader: true, FairGroup: true,
		ChecksDLQ: true, ChecksHandles: true, ChecksDelay: true, GroupBatch: true,
	}}
}

func faux() Server {
	return Server{Name: "fauxqs", Endpoint: os.Getenv("REDRIVE_TEST_SQS_FAUX"), Region: "us-east-1", Account: "000000000000", Facts: Facts{
		SystemAttributeNames: true, SentTimestampKept: true, MovesOnReceive: true, ExactCounts: true, PurgesAtOnce: true,
		LongPolls: true, GroupBlocking: true, ChecksGroup: true, DedupAfterDelete: true, ChecksCharacters: true,
	}}
}

// Servers are the two test servers.
func Servers(t testing.TB) []Server {
	t.Helper()
	both := []Server{local(), faux()}
	for _, s := range both {
		if s.Endpoint == "" {
			t.Fatalf("no endpoint of %s: run ./testdata/test.sh, which starts the servers that the tests need, or set REDRIVE_TEST_SQS_LOCAL and REDRIVE_TEST_SQS_FAUX to what its head says", s.Name)
		}
	}
	return both
}

// Each runs a test on each of the test servers.
func Each(t *testing.T, test func(*testing.T, Server)) {
	t.Helper()
	for _, s := range Servers(t) {
		t.Run(s.Name, func(t *testing.T) { test(t, s) })
	}
}

// AWS is the region that REDRIVE_TEST_SQS_AWS names. Without it the test log says
// what was not looked at.
func AWS(t testing.TB) (Server, bool) {
	t.Helper()
	region := os.Getenv("REDRIVE_TEST_SQS_AWS")
	if region == "" {
		t.Log("AWS itself was not asked: REDRIVE_TEST_SQS_AWS names no region")
		return Server{}, false
	}
	all := Facts{
		MoveTasks: true, ListSources: true, SourceARN: true, TraceHeader: true, FairGroup: true,
		ChecksDLQ: true, ChecksHandles: true, ChecksDelay: true, GroupBatch: true,
		SystemAttributeNames: true, SentTimestampKept: true, MovesOnReceive: true, ExactCounts: true,
		LongPolls: true, GroupBlocking: true, ChecksGroup: true, DedupAfterDelete: true, ChecksCharacters: true,
	}
	return Server{Name: "AWS", Region: region, Facts: all}, true
}

// Client is a client of the server.
func (s Server) Client(t testing.TB, change ...func(*sqs.Options)) *sqs.Client {
	t.Helper()
	return Client(t, s.Endpoint, change...)
}
