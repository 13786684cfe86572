package sqs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

func TestCheck(t *testing.T) {
	long := strings.Repeat("q", 81)
	tests := []struct {
		key string // the key at fault, "" for none
		b   Backend
		src Source
	}{
		{"", Backend{Region: "eu-west-1"}, Source{DLQ: "a-dlq"}},
		{"", Backend{Region: "eu-west-1", Endpoint: "http://127.0.0.1:9324", AccessKeyEnv: "K", SecretKeyEnv: "S", TokenEnv: "T"}, Source{DLQ: "arn:aws:sqs:eu-west-1:123456789012:a.fifo", Destinations: []string{"b.fifo"}}},
		{"", Backend{Region: "eu-west-1", Profile: "p"}, Source{DLQ: "a", Envelope: "none", Look: Looking{Visibility: time.Hour, Most: 10}}},
		{"region", Backend{}, Source{DLQ: "a"}},
		{"region", Backend{Region: "eu west"}, Source{DLQ: "a"}},
		{"endpoint", Backend{Region: "r", Endpoint: "localhost:9324"}, Source{DLQ: "a"}},
		{"endpoint", Backend{Region: "r", Endpoint: "http://user:pw@host"}, Source{DLQ: "a"}},
		{"access_key_env", Backend{Region: "r", AccessKeyEnv: "K"}, Source{DLQ: "a"}},
		{"access_key_env", Backend{Region: "r", AccessKeyEnv: "AKIA/x", SecretKeyEnv: "S"}, Source{DLQ: "a"}},
		{"session_token_env", Backend{Region: "r", TokenEnv: "T"}, Source{DLQ: "a"}},
		{"profile", Backend{Region: "r", Profile: "p", AccessKeyEnv: "K", SecretKeyEnv: "S"}, Source{DLQ: "a"}},
		{"dlq", Backend{Region: "r"}, Source{}},
		{"dlq", Backend{Region: "r"}, Source{DLQ: "a b"}},
		{"dlq", Backend{Region: "r"}, Source{DLQ: long}},
		{"dlq", Backend{Region: "r"}, Source{DLQ: "arn:aws:sns:r:1:a"}},
		{"dlq", Backend{Region: "r"}, Source{DLQ: "arn:aws:sqs:other:1:a"}},
		{"destinations.0", Backend{Region: "r"}, Source{DLQ: "a", Destinations: []string{"a"}}},
		{"destinations.1", Backend{Region: "r"}, Source{DLQ: "a", Destinations: []string{"b", "b"}}},
		{"destinations.0", Backend{Region: "r"}, Source{DLQ: "a", Destinations: []string{"b.fifo"}}},
		{"destinations.0", Backend{Region: "r"}, Source{DLQ: "a", Destinations: []string{""}}},
		{"envelope", Backend{Region: "r"}, Source{DLQ: "a", Envelope: "lambda"}},
		{"reason.attributes.code", Backend{Region: "r"}, Source{DLQ: "a", Reason: Reason{Named{Code: ".x"}}}},
		{"job", Backend{Region: "r"}, Source{DLQ: "a", Job: "a..b"}},
		{"look.visibility", Backend{Region: "r"}, Source{DLQ: "a", Look: Looking{Visibility: time.Second}}},
		{"look.visibility", Backend{Region: "r"}, Source{DLQ: "a", Look: Looking{Visibility: 13 * time.Hour}}},
		{"look.most", Backend{Region: "r"}, Source{DLQ: "a", Look: Looking{Most: 120_000}}},
		{"look.most", Backend{Region: "r"}, Source{DLQ: "a", Look: Looking{Most: -1}}},
	}
	for _, tt := range tests {
		err := check(backends.Config{Name: "aws", Backend: &tt.b, Sources: map[string]any{"q": &tt.src}})
		fault, ok := errors.AsType[*backends.ConfigError](err)
		if (err == nil) != (tt.key == "") || ok && (fault.Key != tt.key || fault.Hint == "") {
			t.Errorf("%+v %+v: %v, want a fault of %q", tt.b, tt.src, err, tt.key)
		}
	}
	two := map[string]any{"p": &Source{DLQ: "a"}, "q": &Source{DLQ: "a"}}
	if err := check(backends.Config{Backend: &Backend{Region: "r"}, Sources: two}); err == nil || !strings.Contains(err.Error(), "the queue p names the same letters") {
		t.Errorf("two queues of one dead-letter queue: %v", err)
	}
}

// allowed characters are those of SendMessage, at their edges.
func TestAllowed(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a\tb\nc\r ": true, "\x1f": false, "\x00": false, "\x7f": true, "\ud7ff\ue000": true,
		"\ufffd": true, "\ufffe": false, "\uffff": false, "\U00010000\U0010ffff": true, "\xff": false, "\xed\xa0\x80": false,
	} {
		if allowed([]byte(text)) != want {
			t.Errorf("%q is allowed: %v", text, !want)
		}
	}
}
