package sqstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Error answers with an error of the JSON protocol: the shape's name and, in a
// header, the code that the older protocol has for it. The server is not asked.
func Error(status int, shape, code, message string) Fault {
	return func(*Exchange, func() *Answer) *Answer { return failure(status, shape, code, message) }
}

func failure(status int, shape, code, message string) *Answer {
	body, _ := json.Marshal(map[string]string{"__type": "com.amazonaws.sqs#" + shape, "message": message})
	fault := "Sender"
	if status >= 500 {
		fault = "Receiver"
	}
	return &Answer{Status: status, Body: body, Header: http.Header{
		"Content-Type":       {"application/x-amz-json-1.0"},
		"X-Amzn-Query-Error": {code + ";" + fault},
		"X-Amzn-Requestid":   {"00000000-0000-0000-0000-000000000000"},
	}}
}

// AccessDenied refuses as IAM does, which writes an action in small letters, and
// knows none for batches.
func AccessDenied() Fault {
	return func(x *Exchange, _ func() *Answer) *Answer {
		action := "sqs:" + strings.ToLower(strings.TrimSuffix(x.Action, "Batch"))
		resource := "arn:aws:sqs:" + x.proxy.Server.Region + ":" + x.proxy.Server.Account + ":" + x.Queue
		return failure(http.StatusForbidden, "AccessDeniedException", "AccessDenied", fmt.Sprintf(
			"User: arn:aws:iam::%s:user/x is not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action",
			x.proxy.Server.Account, action, resource, action))
	}
}

// OverLimit says that too many messages are in flight.
func OverLimit() Fault {
	return Error(http.StatusForbidden, "OverLimit", "OverLimit", "Too many messages in flight.")
}

// Throttled says that there are too many requests, in SQS's own word.
func Throttled() Fault {
	return Error(http.StatusForbidden, "RequestThrottled", "RequestThrottled", "Request was throttled.")
}

// Throttling says so in the word of AWS at large.
func Throttling() Fault {
	return Error(http.StatusBadRequest, "ThrottlingException", "ThrottlingException", "Rate exceeded")
}

// NoQueue says that there is no such queue.
func NoQueue() Fault {
	return Error(http.StatusBadRequest, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
}

// Kms is a refusal of the service that keeps the key of an encrypted queue.
type Kms string

// What KMS says no for, as SQS names it.
const (
	KmsAccessDenied    Kms = "KmsAccessDenied"
	KmsDisabled        Kms = "KmsDisabled"
	KmsInvalidKeyUsage Kms = "KmsInvalidKeyUsage"
	KmsInvalidState    Kms = "KmsInvalidState"
	KmsNotFound        Kms = "KmsNotFound"
	KmsOptInRequired   Kms = "KmsOptInRequired"
	KmsThrottled       Kms = "KmsThrottled"
)

// Refuses answers that KMS has said no.
func (k Kms) Refuses() Fault {
	name := strings.TrimPrefix(string(k), "Kms")
	status, code := http.StatusBadRequest, "KMS."+name+"Exception"
	switch k {
	case KmsOptInRequired:
		status, code = http.StatusForbidden, "KMS.OptInRequired"
	case KmsThrottled:
		code = "KMS.ThrottlingException"
	}
	return Error(status, string(k), code, "KMS has refused: "+name)
}
