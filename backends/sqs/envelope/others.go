package envelope

import (
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// readBus reads what a custom event bus of EventBridge leaves when a subscriber
// failed. It lists the events by id and does not hold them.
func readBus(_ Message, b body) (Letter, bool) {
	retries, counted := count(string(b["retryAttempts"]))
	if text(b["version"]) == "" || !isARN(text(b["busArn"])) || !isARN(text(b["targetArn"])) ||
		text(b["errorCode"]) == "" || b["errorMessage"] == nil || !isArray(b["failedMessages"]) || !counted {
		return Letter{}, false
	}
	subscriber, ok := arn(text(b["subscriberArn"]))
	message, said := str(b["errorMessage"])
	if !ok || !said {
		return Letter{}, false
	}
	name := subscriber[5]
	return Letter{
		Reason:   backends.Reason{Code: word(text(b["errorCode"])), Message: prose(message), Source: "envelope"},
		Attempts: retries + 1, // it counts what came after the first try
		Job:      word(name[strings.LastIndexAny(name, ":/")+1:]),
		Group:    word(text(b["targetArn"])),
		ListOnly: "The record of the event bus names the failed events and does not hold them.",
	}, true
}

// readSNS reads a notification with its envelope. The subscriber gets the whole of
// it, so the whole is the payload. Why it failed SNS says nowhere in it.
func readSNS(_ Message, b body) (Letter, bool) {
	topic, ok := arn(text(b["TopicArn"]))
	if _, isText := str(b["Message"]); !ok || !isText || topic[2] != "sns" || text(b["Type"]) != "Notification" || text(b["MessageId"]) == "" {
		return Letter{}, false
	}
	l := Letter{Attempts: -1, Job: word(topic[5])}
	if b["Signature"] != nil {
		l.WhyNot = "SNS signed the payload, and a changed one no longer matches the signature"
	}
	return l, true
}

const inS3 = "the message only points to its payload, which is in S3"

// readPointer reads a message whose payload an extended client of SQS put into S3.
// The attribute alone is enough: a receiver takes the body for a pointer by it.
func readPointer(m Message, _ body) (Letter, bool) {
	for _, name := range []string{"ExtendedPayloadSize", "SQSLargePayloadSize"} {
		if a, ok := m.Attributes[name]; ok && base(a.Type) == "Number" {
			return Letter{Attempts: -1, WhyNot: inS3}, true
		}
	}
	return Letter{Attempts: -1, WhyNot: inS3}, isPointer(m.Body)
}

// pointerClasses are the names by which the clients mark a pointer.
var pointerClasses = []string{
	"software.amazon.payloadoffloading.PayloadS3Pointer",
	"com.amazon.sqs.javamessaging.MessageS3Pointer",
}

// isPointer knows ["class",{"s3BucketName":"…","s3Key":"…"}]. Names that come
// twice are let pass: what may be a pointer is not patched.
func isPointer(raw []byte) bool {
	elements, ok := array(raw, 3)
	if !ok || len(elements) != 2 || !isObject(elements[1]) {
		return false
	}
	class := strings.TrimPrefix(text(elements[0]), "awsv2.repackaged.")
	return slices.Contains(pointerClasses, class)
}
