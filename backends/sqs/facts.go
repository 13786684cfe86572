package sqs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// facts are all of a message but its body, as a snapshot keeps them.
type facts struct {
	System   map[string]string `json:"system"` // system attributes by name (ReceiveMessage)
	Fields   []field           `json:"fields,omitempty"`
	Receives int               `json:"receives"`
}

// field is a message attribute. Value is text, or bytes where Type begins with
// Binary (SendMessage, message attribute data types).
type field struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value []byte `json:"value"`
}

func (f *field) binary() bool { return isBinary(f.Type) }

func isBinary(kind string) bool { return kind == "Binary" || len(kind) > 7 && kind[:7] == "Binary." }

// factsOf reads a message as it was received.
func factsOf(m *types.Message) facts {
	f := facts{System: m.Attributes, Receives: atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])}
	for _, name := range slices.Sorted(maps.Keys(m.MessageAttributes)) {
		a := m.MessageAttributes[name]
		v := field{Name: name, Type: aws.ToString(a.DataType), Value: a.BinaryValue}
		if !isBinary(v.Type) {
			v.Value = []byte(aws.ToString(a.StringValue))
		}
		f.Fields = append(f.Fields, v)
	}
	return f
}

// system is a system attribute, "" if the message has none.
func (f *facts) system(name types.MessageSystemAttributeName) string { return f.System[string(name)] }

// sent is when the message was sent, in milliseconds since 1970; 0 if unknown. A
// standard queue keeps it when the message moves to the dead-letter queue.
func (f *facts) sent() int64 {
	n, _ := strconv.ParseInt(f.system(types.MessageSystemAttributeNameSentTimestamp), 10, 64)
	return n
}

// snapshot is a message as it is kept.
func (e *eye) snapshot(m *types.Message) (backends.Snapshot, error) {
	f := factsOf(m)
	data, err := json.Marshal(f)
	if err != nil {
		return backends.Snapshot{}, fmt.Errorf("keeping a message: %w", err)
	}
	body := aws.ToString(m.Body)
	return backends.Snapshot{ID: id(m), Order: f.sent(), Facts: data, Body: []byte(body), Size: len(body)}, nil
}

func milli(n int64) (t time.Time) {
	if n > 0 {
		t = time.UnixMilli(n).UTC()
	}
	return t
}
