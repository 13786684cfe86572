package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/policy"
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
		`{"currency": "EUR", "customer": {"email": ["s3cr3t"]}}`:      {`/customer/email: must be of type "string"`},
		`{"currency": 7, "amount": "x", "customer": 1}`:               {`/amount: must be of type "integer"`, `/currency: must be of type "string"`, `/customer: must be of type "object"`},
		`{"currency": "EUR", "amount": 1e999999999}`:                  {"/amount: is too long a number to be checked"},
		`{"currency": "EUR", "x": [-1E-99999]}`:                       {"/x/0: is too long a number to be checked"},
		`{"currency": "EUR", "x": ` + strings.Repeat("9", 1001) + `}`: {"/x: is too long a number to be checked"},
		`{"currency": "EUR"`:                                          {"the body: is not JSON"},
	} {
		var got []string
		for _, f := range s.Validate([]byte(body)) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
		if strings.Contains(strings.Join(got, ""), "s3cr3t") {
			t.Errorf("%s: a value is repeated: %q", body, got)
		}
	}
}

// "format" is checked whatever draft a schema names.
func TestBodySchemaChecksFormats(t *testing.T) {
	for _, draft := range []string{"", `"$schema": "http://json-schema.org/draft-07/schema#", `, `"$schema": "https://json-schema.org/draft/2020-12/schema", `} {
		read := func(string) ([]byte, error) {
			return []byte(`{` + draft + `"properties": {"mail": {"format": "email"}}}`), nil
		}
		p, err := policy.Parse("policy.yaml", []byte(withSchema), read, options())
		if err != nil {
			t.Fatal(err)
		}
		s := p.Queues["q"].Patch.Schema
		if why := s.Validate([]byte(`{"mail": "ana@example.com"}`)); len(why) != 0 {
			t.Errorf("%s: %q", draft, why)
		}
		if why := s.Validate([]byte(`{"mail": "s3cr3t"}`)); len(why) != 1 || why[0].String() != "/mail: must be a valid email" {
			t.Errorf("%s: %q", draft, why)
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
