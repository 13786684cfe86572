package args

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const sample = `{"type":"object","additionalProperties":false,"required":["queue"],"properties":{
	"queue":{"type":"string","minLength":1,"maxLength":8},
	"id":{"type":"string"},
	"ids":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","maxLength":4}},
	"limit":{"type":"integer","minimum":1,"maximum":100},
	"offset":{"type":"integer","minimum":0},
	"dry_run":{"type":"boolean"},
	"response_format":{"type":"string","enum":["concise","detailed"]},
	"filter":{"type":"object","additionalProperties":false,"properties":{"job":{"type":"string"},"min_attempts":{"type":"integer","minimum":0,"maximum":9}}},
	"patch":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["op","path"],"properties":{"op":{"type":"string"},"path":{"type":"string"},"value":{}}}},
	"merge_patch":{"type":"object"}}}`

type sampleArgs struct {
	Queue          string   `json:"queue"`
	ID             string   `json:"id,omitempty"`
	IDs            []string `json:"ids,omitempty"`
	Limit          int      `json:"limit,omitempty"`
	Offset         int      `json:"offset,omitempty"`
	DryRun         bool     `json:"dry_run,omitempty"`
	ResponseFormat string   `json:"response_format,omitempty"`
	Filter         *struct {
		Job         string `json:"job"`
		MinAttempts int    `json:"min_attempts"`
	} `json:"filter,omitempty"`
	Patch      jsontext.Value `json:"patch,omitempty"`
	MergePatch jsontext.Value `json:"merge_patch,omitempty"`
}

func sampleSchema(t testing.TB) *Schema {
	s, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecodeRefuses(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ raw, want string }{
		{`{}`, "`queue` is missing"},
		{``, "`queue` is missing"},
		{`null`, "`queue` is missing"},
		{`[]`, "`arguments` must be an object, got a list"},
		{`"queue"`, "`arguments` must be an object, got a string"},
		{`{"Queue":"a"}`, "unknown argument `Queue`; did you mean `queue`?; `queue` is missing"},
		{`{"queue":"a","QUEUE":"b"}`, "unknown argument `QUEUE`; did you mean `queue`?"},
		{`{"queue":"a","queue":"b"}`, `the arguments hold a name twice at "/queue"; send each once`},
		{`{"queue":"a","\u0071ueue":"b"}`, `the arguments hold a name twice at "/queue"; send each once`},
		{`{"queue":"a","merge_patch":{"x":{"n":1,"n":2}}}`, `the arguments hold a name twice at "/merge_patch/x/n"; send each once`},
		{`{"queue":"a","dryRun":true}`, "unknown argument `dryRun`; did you mean `dry_run`?"},
		{`{"queue":"a","idz":"b"}`, "unknown argument `idz`; did you mean `id`?"},
		{`{"queue":"a","bogus":1}`, "unknown argument `bogus`; known are queue, id, ids, limit, offset, dry_run, response_format, filter, patch, merge_patch"},
		{`{"queue":"a","inputResponses":{"confirm":{"action":"accept"}}}`, "unknown argument `inputResponses`; known are queue, id, ids, limit, offset, dry_run, response_format, filter, patch, merge_patch"},
		{`{"queue":"a","a\u001bb":1}`, `unknown argument "a\x1bb"; known are queue, id, ids, limit, offset, dry_run, response_format, filter, patch, merge_patch`},
		{`{"queue":"a","filter":{"Job":"x"}}`, "unknown argument `Job` of `filter`; did you mean `job`?"},
		{`{"queue":"a","filter":{"min_attempts":10}}`, "`filter.min_attempts` must be 0 to 9, got 10"},
		{`{"queue":"a","filter":null}`, "`filter` must be an object, got null; leave it out instead"},
		{`{"queue":"a","filter":"job=x"}`, "`filter` must be an object, got a string"},
		{`{"queue":7}`, "`queue` must be a string such as \"7\", got a number"},
		{`{"queue":true}`, "`queue` must be a string, got true or false"},
		{`{"queue":""}`, "`queue` must not be empty"},
		{`{"queue":"ääääääääz"}`, "`queue` is 9 characters long; at most 8"},
		{`{"queue":"a","limit":1000}`, "`limit` must be 1 to 100, got 1000"},
		{`{"queue":"a","limit":0}`, "`limit` must be 1 to 100, got 0"},
		{`{"queue":"a","limit":-1}`, "`limit` must be 1 to 100, got -1"},
		{`{"queue":"a","limit":99999999999999999999}`, "`limit` must be 1 to 100, got 99999999999999999999"},
		{`{"queue":"a","limit":1.5}`, "`limit` must be a whole number, 1 to 100, got 1.5"},
		{`{"queue":"a","limit":1e1}`, "`limit` must be a whole number, 1 to 100, got 1e1"},
		{`{"queue":"a","limit":"20"}`, "`limit` must be a number, 1 to 100, got a string"},
		{`{"queue":"a","offset":-2}`, "`offset` must be 0 or more, got -2"},
		{`{"queue":"a","offset":9223372036854775807}`, "`offset` must be 0 or more, got 9223372036854775807"},
		{`{"queue":"a","dry_run":"yes"}`, "`dry_run` must be true or false, got a string"},
		{`{"queue":"a","response_format":"full"}`, "`response_format` must be one of concise, detailed, got \"full\""},
		{`{"queue":"a","ids":["1","2","3","4"]}`, "`ids` holds 4 ids; at most 3 a call"},
		{`{"queue":"a","ids":[]}`, "`ids` must not be empty"},
		{`{"queue":"a","ids":"1"}`, "`ids` must be a list, got a string"},
		{`{"queue":"a","ids":["1",2]}`, "`ids[1]` must be a string such as \"2\", got a number"},
		{`{"queue":"a","ids":["12345"]}`, "`ids[0]` is 5 characters long; at most 4"},
		{`{"queue":"a","patch":[{"op":"add","Path":"/x"}]}`, "unknown argument `Path` of `patch[0]`; did you mean `path`?; `patch[0].path` is missing"},
		{`{"queue":"` + long + `"}`, "`queue` is 200 characters long; at most 8"},
		{`{"` + long + `":1,"queue":"a"}`, "unknown argument \"" + long[:80] + "\"…; known are queue, id, ids, limit, offset, dry_run, response_format, filter, patch, merge_patch"},
		{"{\"queue\":\"\xff\"}", `the arguments are not valid JSON in UTF-8 at "/queue"`},
		{`{"queue":"\ud800"}`, `the arguments are not valid JSON in UTF-8 at "/queue"`},
		{`{"queue":"a"} {}`, "the arguments are not valid JSON in UTF-8"},
		{`{"queue":1,"limit":"x","dry_run":2,"ids":3}`, "`queue` must be a string such as \"1\", got a number; `limit` must be a number, 1 to 100, got a string; `dry_run` must be true or false, got a number"},
	} {
		_, err := Decode[sampleArgs](sampleSchema(t), jsontext.Value(c.raw))
		if err == nil || err.Error() != c.want {
			t.Errorf("%.80s\n got %v\nwant %s", c.raw, err, c.want)
		}
	}
}

func TestDecodeKeepsBytes(t *testing.T) {
	const patch = `[ {"op":"replace", "path":"/id","value": 9007199254740993.10} ]`
	a, err := Decode[sampleArgs](sampleSchema(t), jsontext.Value(`{"queue":"q","limit":100,"offset":0,"patch":`+patch+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(a.Patch) != patch || a.Limit != 100 || a.Queue != "q" {
		t.Errorf("got %+v", a)
	}
}

func TestDecodeRefusesTooMuch(t *testing.T) {
	raw := jsontext.Value(`{"queue":"` + strings.Repeat("x", MaxBytes) + `"}`)
	if _, err := Decode[sampleArgs](sampleSchema(t), raw); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v", err)
	}
}

func TestParseRefusesUnknownKeywords(t *testing.T) {
	if _, err := Parse(`{"type":"object","properties":{"a":{"type":"string","pattern":"^a"}}}`); err == nil {
		t.Error("a keyword that nobody checks was accepted")
	}
}
