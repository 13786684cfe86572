package policy_test

import (
	"slices"
	"strings"
	"testing"
)

func TestBodySchema(t *testing.T) {
	s := load(t, "design.yaml").Queues["orders"].Patch.Schema
	for body, want := range map[string][]string{
		`{"currency": "EUR"}`:                             nil,
		`{"currency": "EUR", "amount": 9007199254740993}`: nil,
		`{"currency": "EUR", "amount": 9007199254740994}`: {"/amount: must be at most 9007199254740993"},
		`{"currency": "s3cr3t"}`:                          {`/currency: must match "^[A-Z]{3}$"`},
		`{"currency": 7}`:                                 {`/currency: must be of type "string"`},
		`{}`:                                              {`the body: must have "currency"`},
		`[]`:                                              {`the body: must be of type "object"`},
		`{"currency": "EUR", "customer": {"email": ["s3cr3t"]}}`: {`/customer/email: must be of type "string"`},
		`{"currency": "EUR"`: {"the body is not JSON"},
	} {
		got := s.Validate([]byte(body))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
		if strings.Contains(strings.Join(got, ""), "s3cr3t") {
			t.Errorf("%s: a value is repeated: %q", body, got)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	p := load(b, "design.yaml")
	f := settled()
	for b.Loop() {
		p.Queues["orders"].Decide(f)
	}
}
