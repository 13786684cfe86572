package sqs

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// explain puts the failure of an action of the API into our own words. role is
// what the queue is to us: "the dead-letter queue" or "the destination".
func explain(err error, action, role string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*backends.Error](err); ok {
		return err
	}
	var missing *types.QueueDoesNotExist
	switch code := codeOf(err); {
	case errors.As(err, &missing), code == "QueueDoesNotExist", code == "AWS.SimpleQueueService.NonExistentQueue":
		return backends.Errorf(backends.BadMapping, err, "%s does not exist in this region and account", role).
			WithHint("check its name and the region in the policy")
	case kms[code] != "":
		return backends.Errorf(backends.NoAccess, err, "%s is encrypted, and %s", role, kms[code]).
			WithHint("allow kms:Decrypt on the key, and kms:GenerateDataKey to send, or enable the key again")
	case denied[code]:
		return backends.Errorf(backends.NoAccess, err, "the permission sqs:%s on %s is missing", action, role).
			WithHint("allow sqs:%s there; docs/sqs.md lists what each use needs", action)
	case credential[code]:
		return backends.Errorf(backends.NoAccess, err, "AWS does not accept the credentials").
			WithHint("check the profile, the keys and their expiry where redrive-mcp runs")
	case code == "OverLimit":
		return backends.Errorf(backends.Busy, err, "too many messages of %s are in flight", role).
			WithHint("wait until other consumers have given theirs back")
	case throttled[code]:
		return backends.Errorf(backends.Unreachable, err, "SQS asks to call less often").WithHint("try again in a minute")
	case code != "":
		return backends.Errorf(backends.Refused, err, "SQS refused the call %s on %s", action, role)
	}
	if errors.Is(err, context.Canceled) {
		return backends.Errorf(backends.Unreachable, err, "SQS was not waited for")
	}
	return backends.Errorf(backends.Unreachable, err, "SQS does not answer").
		WithHint("check the network, the region and the endpoint")
}

// The codes of the API's errors (API reference, common errors and the actions').
var (
	denied     = set("AccessDenied", "AccessDeniedException", "AuthorizationError")
	credential = set("InvalidClientTokenId", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSecurity", "ExpiredToken", "ExpiredTokenException",
		"UnrecognizedClientException", "MissingAuthenticationToken", "IncompleteSignature", "OptInRequired", "RequestExpired")
	throttled = set("RequestThrottled", "ThrottlingException", "Throttling", "TooManyRequestsException", "KMS.ThrottlingException", "KmsThrottled")
	kms       = map[string]string{
		"KMS.AccessDeniedException": "its key may not be used by us", "KmsAccessDenied": "its key may not be used by us",
		"KMS.DisabledException": "its key is disabled", "KmsDisabled": "its key is disabled",
		"KMS.InvalidStateException": "its key is in a state in which it cannot be used", "KmsInvalidState": "its key is in a state in which it cannot be used",
		"KMS.NotFoundException": "its key is not found", "KmsNotFound": "its key is not found",
		"KMS.OptInRequired": "KMS is not enabled for this account", "KmsOptInRequired": "KMS is not enabled for this account",
		"KMS.InvalidKeyUsageException": "its key is of another use", "KmsInvalidKeyUsage": "its key is of another use",
	}
)

func set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

// codeOf is the code of an error that SQS itself answered, "" if it did not.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// notProcessed reports whether a call surely had no effect: it was refused before
// it was carried out, or never left this machine.
func notProcessed(err error) bool {
	if throttled[codeOf(err)] {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// refused reports whether SQS said that it did not carry a call out.
func refused(err error) bool {
	var api smithy.APIError
	return notProcessed(err) || errors.As(err, &api) && api.ErrorFault() != smithy.FaultServer
}

// failure is what SQS says of one entry of a call.
func failure(e types.BatchResultErrorEntry) error {
	fault := smithy.FaultServer
	if e.SenderFault {
		fault = smithy.FaultClient
	}
	return &smithy.GenericAPIError{Code: aws.ToString(e.Code), Message: aws.ToString(e.Message), Fault: fault}
}
