package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// BodySchema is the JSON Schema that a patched body must satisfy.
type BodySchema struct {
	Name string // of the file
	Data []byte

	once     sync.Once
	compiled *jsonschema.Schema
	err      error
}

func (s *BodySchema) compile() error {
	s.once.Do(func() { s.compiled, s.err = compileSchema(s.Data) })
	return s.err
}

// compileSchema takes a schema that stands alone: a $ref to another file or
// host would make the meaning of a policy depend on what is there that day.
func compileSchema(data []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if err := rawjson.Check(data); err != nil { // above all a key that stands twice, of which only one would count
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat() // else newer drafts would pass over "format"
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return nil, errors.New(firstFailure(err))
	}
	return compiled, nil
}

type noLoader struct{}

// Load refuses: see compileSchema.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema names no other files")
}

func firstFailure(err error) string {
	var invalid *jsonschema.SchemaValidationError
	var failed *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &failed) {
		if all := failures(failed, nil); len(all) > 0 {
			return all[0].String()
		}
	}
	return oneLine(err)
}

// Failure is one thing in a body that does not satisfy the schema: where, and
// what is demanded there.
type Failure struct {
	At     rawjson.Pointer
	Demand string
}

func (f Failure) String() string {
	if f.At.IsRoot() {
		return "the body: " + f.Demand
	}
	return f.At.String() + ": " + f.Demand
}

// Validate says what of a body does not satisfy the schema, none if it does, in
// the order of the places. The demands hold keywords and limits of the schema,
// never a value of the body. Numbers are compared exactly, so one that is too
// long for that fails.
func (s *BodySchema) Validate(body []byte) []Failure {
	if err := s.compile(); err != nil {
		return []Failure{{Demand: "the schema does not compile"}}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []Failure{{Demand: "is not JSON"}}
	}
	if all := tooLong(doc, rawjson.Pointer{}, nil); len(all) > 0 {
		return inOrder(all)
	}
	var failed *jsonschema.ValidationError
	switch err := s.compiled.Validate(doc); {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return inOrder(failures(failed, nil))
	}
	return []Failure{{Demand: "cannot be checked against the schema"}}
}

// inOrder sorts: the library goes through members in any order.
func inOrder(all []Failure) []Failure {
	slices.SortFunc(all, func(a, b Failure) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// maxNumber is how many characters a number may have, and how large its exponent
// may be, to be compared: 1e999999999 has as many digits.
const maxNumber = 1000

// tooLong finds numbers that the library cannot compare.
func tooLong(v any, at rawjson.Pointer, all []Failure) []Failure {
	switch v := v.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		n, err := strconv.Atoi(cmp.Or(exponent, "0"))
		if err != nil || n > maxNumber || n < -maxNumber || len(v) > maxNumber {
			return append(all, Failure{at, "is too long a number to be checked"})
		}
	case map[string]any:
		for name, member := range v {
			all = tooLong(member, at.Child(name), all)
		}
	case []any:
		for i, element := range v {
			all = tooLong(element, at.Child(strconv.Itoa(i)), all)
		}
	}
	return all
}

// failures are the leaves of a tree of errors.
func failures(e *jsonschema.ValidationError, all []Failure) []Failure {
	if len(e.Causes) == 0 {
		return append(all, Failure{placeOf(e.InstanceLocation), demand(e.ErrorKind)})
	}
	for _, cause := range e.Causes {
		all = failures(cause, all)
	}
	return all
}

// demand words what a keyword asks for. Only kinds that are known to hold
// nothing of the body are worded; the rest is named by its keyword.
func demand(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be of type %s", either(k.Want))
	case *kind.Required:
		return fmt.Sprintf("must have %s", either(k.Missing))
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("must match %q", k.Want)
	case *kind.Format:
		return fmt.Sprintf("must be a valid %s", k.Want)
	case *kind.AdditionalProperties:
		return "has a member that the schema does not allow"
	case *kind.FalseSchema:
		return "is not allowed here"
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return fmt.Sprintf("does not satisfy %q", path[0])
	}
	return "does not satisfy the schema"
}

func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file in the policy's folder"
	case errors.Is(err, fs.ErrPermission):
		return "no permission"
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return oneLine(err)
}

func either(words []string) string { return quoted(words) }

func placeOf(tokens []string) rawjson.Pointer {
	at := rawjson.Pointer{}
	for _, t := range tokens {
		at = at.Child(t)
	}
	return at
}
