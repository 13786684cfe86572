package sqstest_test

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/redrive-mcp/redrive-mcp/backends/sqs/sqstest"
)

func ptr[T any](v T) *T { return &v }

func receive(q sqstest.Queue, most int32) *sqs.ReceiveMessageInput {
	return &sqs.ReceiveMessageInput{QueueUrl: &q.URL, MaxNumberOfMessages: most}
}
