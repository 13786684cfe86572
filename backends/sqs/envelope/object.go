package envelope

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// body is what is asked of a body that is one JSON object: the raw values of the
// members that envelopes have at the top, by name. It is nil for any other body.
type body map[string][]byte

// top are the names of those members.
var top = []string{
	"version", "timestamp", "requestContext", "requestPayload", "responseContext", "responsePayload",
	"context", "KinesisBatchInfo", "DDBStreamBatchInfo", "KafkaBatchInfo",
	"busArn", "subscriberArn", "targetArn", "errorCode", "errorMessage", "retryAttempts", "failedMessages",
	"Type", "MessageId", "TopicArn", "Message", "Timestamp", "Signature",
}

// openBody reads the top of a body. A body that is not UTF-8 is none that SQS
// takes, so it is not read.
func openBody(raw []byte) body {
	if !utf8.Valid(raw) {
		return nil
	}
	if members, ok := object(raw, top...); ok {
		return members
	}
	return nil
}

// decode reads JSON in place. Names that come twice are looked for where they
// matter, and escapes of half characters are let pass: both may stand in a payload
// that is nobody's business here.
func decode(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// object is the raw values of some members of an object, as parts of raw. It is
// false for what is not one whole object, and where one of the names comes twice.
func object(raw []byte, names ...string) (map[string][]byte, bool) {
	d := decode(raw)
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	found := map[string][]byte{}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		name, wanted := oneOf(t, names)
		v, err := value(d, raw)
		if err != nil || wanted && found[name] != nil {
			return nil, false
		}
		if wanted {
			found[name] = v
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	_, err := d.ReadToken()
	return found, err == io.EOF
}

// value is the next value as a part of raw, which the decoder reads.
func value(d *jsontext.Decoder, raw []byte) ([]byte, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := d.InputOffset()
	return raw[end-int64(len(v)) : end : end], nil
}

// oneOf finds a member's name, which may be written with escapes, among names.
func oneOf(t jsontext.Token, names []string) (string, bool) {
	s := t.String()
	for _, name := range names {
		if s == name {
			return name, true
		}
	}
	return "", false
}

// array is the raw elements of an array. It stops behind n of them; otherwise it is
// false for what is not one whole array.
func array(raw []byte, n int) ([][]byte, bool) {
	d := decode(raw)
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	var elements [][]byte
	for len(elements) < n {
		if d.PeekKind() == ']' {
			_, _ = d.ReadToken()
			_, err := d.ReadToken()
			return elements, err == io.EOF
		}
		v, err := value(d, raw)
		if err != nil {
			return nil, false
		}
		elements = append(elements, v)
	}
	return elements, true
}

// str is the text of a raw value, false if it is not a string. Half characters
// become the replacement character.
func str(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	s, _ := jsontext.AppendUnquote(nil, raw)
	return string(s), true
}

// text is the text of a raw value, empty if it is not a string.
func text(raw []byte) string {
	s, _ := str(raw)
	return s
}

func isNull(raw []byte) bool   { return string(raw) == "null" }
func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }
func isArray(raw []byte) bool  { return len(raw) > 0 && raw[0] == '[' }
