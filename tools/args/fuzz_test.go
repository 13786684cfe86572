package args

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// FuzzDecode compares with a full validator: whatever is accepted here fits the
// schema there, and whatever is refused here does not, unless it is JSON that
// others read in more than one way.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"queue":"a"}`, `{"queue":"a","ids":["1","2"],"limit":3}`, `{"Queue":"a"}`, `{"queue":"a","queue":"b"}`,
		`{"queue":"a","patch":[{"op":"add","path":"/x","value":{"a":[1,null]}}]}`, `{"queue":"a","limit":1e1}`,
		`{"queue":"a","merge_patch":{"a":1,"A":2}}`, "{\"queue\":\"\xff\"}", `{"queue":"\ud800"}`, `[]`, `null`, ``, `{"queue":`,
		`{"queue":"a","filter":{"job":"x","min_attempts":9},"dry_run":true,"response_format":"concise","offset":0}`,
	} {
		f.Add([]byte(s))
	}
	s, oracle := sampleSchema(f), compile(f, sample)
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, err := Decode[sampleArgs](s, jsontext.Value(bytes.Clone(raw)))
		if err != nil && (!utf8.ValidString(err.Error()) || len(err.Error()) > 1000) {
			t.Errorf("sentence of %d bytes: %q", len(err.Error()), err)
		}
		if !jsontext.Value(raw).IsValid() || jsontext.Value(raw).Kind() == 'n' {
			return
		}
		v, jsonErr := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if jsonErr != nil {
			return
		}
		fits := oracle.Validate(v) == nil
		if err == nil && !fits {
			t.Errorf("%s was accepted and does not fit the schema", raw)
		}
		if err != nil && fits && !oddNumber(err) {
			t.Errorf("%s fits the schema and was refused: %v", raw, err)
		}
	})
}

// oddNumber: 1.0 and 1e1 are integers to JSON Schema and to nobody else here,
// and integers stop where 64 bits do.
func oddNumber(err error) bool {
	return strings.Contains(err.Error(), "whole number") || strings.Contains(err.Error(), "or more, got")
}

func compile(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
