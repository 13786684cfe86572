package envelope

import (
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const (
	order = `{"order": 42, "total": 12345678901234567890.10, "name": "\ud83c", "lines":[ 1 , 2 ]}`

	head = `"version":"1.0","timestamp":"2026-03-01T10:00:00.500Z",`

	request = `"requestContext":{"requestId":"3f0c1c52","functionArn":"arn:aws:lambda:eu-west-1:111122223333:function:bill:$LATEST","condition":"RetriesExhausted","approximateInvokeCount":3},`

	response = `"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled"},` +
		`"responsePayload":{"errorMessage":"no such account","errorType":"AccountError","stackTrace":["  File \"bill.py\", line 7\n","    charge()\n"]}`

	destination = `{` + head + request + `"requestPayload":` + order + `,` + response + `}`

	shard = `{"shardId":"shardId-000000000003","startSequenceNumber":"4960118","endSequenceNumber":"4960125","batchSize":8,"streamArn":"arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"}`

	mapping = `{` + request + `"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled"},` + head + `"KinesisBatchInfo":` + shard + `}`

	pipe = `{"context":{"partnerResourceArn":"arn:aws:pipes:eu-west-1:111122223333:pipe/sync","condition":"RetryAttemptsExhausted"},` + head + `"DDBStreamBatchInfo":` + shard + `}`

	bus = `{"version":"1","busArn":"arn:aws:events:eu-west-1:111122223333:event-bus/orders","subscriberArn":"arn:aws:events:eu-west-1:111122223333:subscriber/orders/mailer",` +
		`"targetArn":"arn:aws:lambda:eu-west-1:111122223333:function:mail","errorCode":"THROTTLING","errorMessage":"too many","exhaustedRetryCondition":"MaximumRetryAttempts",` +
		`"retryAttempts":4,"failedMessages":[{"eventId":"e1","timestamp":"2026-03-01T10:00:00Z"}]}`

	notification = `{"Type":"Notification","MessageId":"5b1c","TopicArn":"arn:aws:sns:eu-west-1:111122223333:orders","Message":"{\"order\":42}","Timestamp":"2026-03-01T10:00:00.000Z",` +
		`"SignatureVersion":"1","Signature":"c2ln","SigningCertURL":"https://sns.eu-west-1.amazonaws.com/cert.pem","UnsubscribeURL":"https://sns.eu-west-1.amazonaws.com/"}`

	pointer = `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"big-orders","s3Key":"9d0e"}]`

	event = `{"version":"0","id":"e1","detail-type":"Order","source":"shop","detail":{"order":42}}`
)

func attributes(pairs ...string) map[string]Attribute {
	all := map[string]Attribute{}
	for i := 0; i < len(pairs); i += 2 {
		name, typ, _ := strings.Cut(pairs[i], ":")
		if typ == "" {
			typ = "String"
		}
		all[name] = Attribute{Type: typ, Value: []byte(pairs[i+1])}
	}
	return all
}

func ofARule() map[string]Attribute {
	return attributes("RULE_ARN", "arn:aws:events:eu-west-1:111122223333:rule/shop/to-mail", "TARGET_ARN", "arn:aws:sqs:eu-west-1:111122223333:mail",
		"ERROR_CODE", "NO_PERMISSIONS", "ERROR_MESSAGE", "not authorised", "RETRY_ATTEMPTS:Number", "0", "mine", "kept")
}

func ofASchedule(truncated string) map[string]Attribute {
	return attributes("SCHEDULE_ARN", "arn:aws:scheduler:eu-west-1:111122223333:schedule/default/nightly", "TARGET_ARN", "arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
		"ERROR_CODE", "QueueDoesNotExist", "ERROR_MESSAGE", "gone", "EXECUTION_ID", "ad06", "SCHEDULED_TIME", "2026-03-01T10:00:00Z", "IS_PAYLOAD_TRUNCATED", truncated,
		"EXHAUSTED_RETRY_CONDITION", "MaximumRetryAttempts", "RETRY_ATTEMPTS", "2")
}

func ofALambda() map[string]Attribute {
	return attributes("RequestID", "3f0c1c52", "ErrorCode:Number", "200", "ErrorMessage", "no such account")
}

// reason makes a reason to compare with.
func reason(source, code, message, stack string) backends.Reason {
	return backends.Reason{Message: backends.Hostile(message), Code: backends.Hostile(code), Stack: backends.Hostile(stack), Verdict: backends.Unknown, Source: source}
}
