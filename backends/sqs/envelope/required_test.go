package envelope

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// missing stands for a member that is not there.
const missing = "missing"

// values are what a member of a sample is changed to.
var values = []any{nil, true, 7.5, "", "x", []any{}, map[string]any{}, missing}

// TestRequired: every member must be there, be of its type and come once.
func TestRequired(t *testing.T) {
	lambda := map[string][]any{"version": nil, "timestamp": nil, "requestContext": nil, "requestContext.requestId": {"x"},
		"requestContext.functionArn": nil, "requestContext.condition": {"x"}, "requestContext.approximateInvokeCount": nil}
	for name, c := range map[string]struct {
		sample  string
		members map[string][]any // with those values that it may have
	}{
		"destination": {destination, lambda},
		"mapping":     {mapping, lambda},
		"pipe": {pipe, map[string][]any{"version": nil, "timestamp": nil, "context": nil, "context.partnerResourceArn": nil,
			"context.condition": {"x"}, "DDBStreamBatchInfo": {map[string]any{}}}},
		"bus": {bus, map[string][]any{"version": {"x"}, "busArn": nil, "subscriberArn": nil, "targetArn": nil, "errorCode": {"x"},
			"errorMessage": {"x", ""}, "retryAttempts": nil, "failedMessages": {[]any{}}}},
		"notification": {notification, map[string][]any{"Type": nil, "MessageId": {"x"}, "TopicArn": nil, "Message": {"x", ""}}},
	} {
		for path, fine := range c.members {
			for _, value := range values {
				if slices.ContainsFunc(fine, func(f any) bool { return fmt.Sprintf("%#v", f) == fmt.Sprintf("%#v", value) }) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s=%#v", name, path, value), func(t *testing.T) {
					isPlain(t, Message{Body: change(t, c.sample, path, value)})
				})
			}
			t.Run(name+"/"+path+" twice", func(t *testing.T) {
				member := `"` + path[strings.LastIndexByte(path, '.')+1:] + `":`
				isPlain(t, Message{Body: []byte(strings.Replace(c.sample, member, member+`"x",`+member, 1))})
			})
		}
	}
}

// change gives a member of a sample another value, or takes it away.
func change(t *testing.T, sample, path string, value any) []byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal([]byte(sample), &whole); err != nil {
		t.Fatal(err)
	}
	at, last := whole, path
	if outer, inner, nested := strings.Cut(path, "."); nested {
		at, last = whole[outer].(map[string]any), inner
	}
	if _, there := at[last]; !there {
		t.Fatalf("the sample has no %s", path)
	}
	at[last] = value
	if value == missing {
		delete(at, last)
	}
	changed, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
