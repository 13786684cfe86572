package cli_test

import (
	"context"
	"crypto/rand"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/rogpeppe/go-internal/testscript"
)

// awsQueue, the command sqs of scripts, is the application on a server that speaks as Amazon SQS does:
//
//	sqs new                     a queue and its dead-letter queue, whose name is in $QUEUE and $QUEUE-dlq
//	sqs kill COUNT ERROR BODY   put messages among the dead; # in BODY is a number
//	sqs work                    take and delete all that is in the queue, into the file worked
//	sqs dead COUNT              so many messages are among the dead, and none is in flight
func awsQueue(ts *testscript.TestScript, neg bool, args []string) {
	endpoint := os.Getenv("REDRIVE_TEST_SQS_LOCAL")
	if endpoint == "" {
		ts.Fatalf("REDRIVE_TEST_SQS_LOCAL is not set: run ./testdata/test.sh, which starts the servers that the tests need")
	}
	q := sqsQueue{ts, context.Background(), awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})}
	switch args[0] {
	case "new":
		q.create(endpoint)
	case "kill":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		for i := range n {
			_, err := q.c.SendMessage(q.ctx, &awssqs.SendMessageInput{
				QueueUrl: q.url("-dlq"), MessageBody: aws.String(strings.ReplaceAll(args[3], "#", strconv.Itoa(i+1))),
				MessageAttributes: map[string]types.MessageAttributeValue{"x-error": {DataType: aws.String("String"), StringValue: &args[2]}},
			})
			ts.Check(err)
		}
	case "work":
		q.work()
	case "dead":
		a := q.attributes(q.url("-dlq"))
		if got := a["ApproximateNumberOfMessages"]; got != args[1] || a["ApproximateNumberOfMessagesNotVisible"] != "0" {
			ts.Fatalf("%s messages are among the dead, %s in flight", got, a["ApproximateNumberOfMessagesNotVisible"])
		}
	}
}

type sqsQueue struct {
	ts  *testscript.TestScript
	ctx context.Context
	c   *awssqs.Client
}

func (q sqsQueue) create(endpoint string) {
	name := "t-" + strings.ToLower(rand.Text()[:12])
	q.ts.Setenv("QUEUE", name)
	q.ts.Setenv("SQS_ENDPOINT", endpoint)
	q.ts.Setenv("SQS_KEY", "test")
	dlq, err := q.c.CreateQueue(q.ctx, &awssqs.CreateQueueInput{QueueName: aws.String(name + "-dlq")})
	q.ts.Check(err)
	policy := `{"deadLetterTargetArn":"` + q.attributes(dlq.QueueUrl)["QueueArn"] + `","maxReceiveCount":"3"}`
	made, err := q.c.CreateQueue(q.ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"RedrivePolicy": policy}})
	q.ts.Check(err)
	q.ts.Defer(func() {
		for _, url := range []*string{made.QueueUrl, dlq.QueueUrl} {
			_, _ = q.c.DeleteQueue(q.ctx, &awssqs.DeleteQueueInput{QueueUrl: url})
		}
	})
}

func (q sqsQueue) url(suffix string) *string {
	out, err := q.c.GetQueueUrl(q.ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String(q.ts.Getenv("QUEUE") + suffix)})
	q.ts.Check(err)
	return out.QueueUrl
}

func (q sqsQueue) attributes(url *string) map[string]string {
	out, err := q.c.GetQueueAttributes(q.ctx, &awssqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"All"}})
	q.ts.Check(err)
	return out.Attributes
}

// work takes all that is there, as a worker would, and keeps what it was given.
func (q sqsQueue) work() {
	url := q.url("")
	var worked strings.Builder
	for q.attributes(url)["ApproximateNumberOfMessages"] != "0" {
		out, err := q.c.ReceiveMessage(q.ctx, &awssqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10})
		q.ts.Check(err)
		for _, m := range out.Messages {
			worked.WriteString(*m.Body + "\n")
			_, err := q.c.DeleteMessage(q.ctx, &awssqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle})
			q.ts.Check(err)
		}
	}
	q.ts.Check(os.WriteFile(q.ts.MkAbs("worked"), []byte(worked.String()), 0o600))
}
