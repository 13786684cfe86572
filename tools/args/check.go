package args

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/redrive-mcp/redrive-mcp/internal/nearest"
)

// maxTold is how many faults one refusal tells, so that one more try can mend
// them all without flooding the reader.
const maxTold = 3

// checker collects what is wrong with one call's arguments.
type checker struct{ faults []string }

// Check says what in raw does not fit the schema, in the order of the arguments.
// raw must be strict JSON.
func (s *Schema) Check(raw jsontext.Value) error {
	var c checker
	if raw.Kind() != '{' {
		c.fault("`arguments` must be an object, got %s", describe(raw))
	} else {
		c.object(s, "", raw)
	}
	if len(c.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(c.faults, "; "))
}

func (c *checker) fault(format string, a ...any) {
	if len(c.faults) < maxTold {
		c.faults = append(c.faults, fmt.Sprintf(format, a...))
	}
}

// object checks the members of a value and which of them are missing. at is the
// path that sentences call it by; empty for the arguments themselves.
func (c *checker) object(s *Schema, at string, raw jsontext.Value) {
	seen := map[string]bool{}
	eachMember(raw, func(name string, value jsontext.Value) {
		property, ok := s.Properties[name]
		switch {
		case ok:
			seen[name] = true
			c.value(property, join(at, name), value)
		case s.closed():
			c.unknown(s, at, name)
		}
	})
	for _, name := range s.Required {
		if !seen[name] {
			c.fault("`%s` is missing", join(at, name))
		}
	}
}

// unknown says what was probably meant. The names it lists are the schema's, which
// the client has been shown; its own word is quoted and cut.
func (c *checker) unknown(s *Schema, at, name string) {
	where := ""
	if at != "" {
		where = " of `" + at + "`"
	}
	hint := "known are " + strings.Join(s.names, ", ")
	if near := nearest.Word(name, s.names); near != "" {
		hint = "did you mean `" + near + "`?"
	} else if len(s.names) == 0 {
		hint = "there are none"
	}
	c.fault("unknown argument %s%s; %s", shown(name), where, hint)
}

// value checks one value against the schema of its place. Null fits nowhere: an
// argument that is not meant is left out.
func (c *checker) value(s *Schema, at string, raw jsontext.Value) {
	switch s.Type {
	case "string":
		c.string(s, at, raw)
	case "integer":
		c.integer(s, at, raw)
	case "boolean":
		if k := raw.Kind(); k != 't' && k != 'f' {
			c.fault("`%s` must be true or false, got %s", at, describe(raw))
		}
	case "array":
		c.array(s, at, raw)
	case "object":
		if raw.Kind() != '{' {
			c.fault("`%s` must be an object, got %s", at, describe(raw))
			return
		}
		c.object(s, at, raw)
	}
}

// string counts characters and not bytes, as JSON Schema does.
func (c *checker) string(s *Schema, at string, raw jsontext.Value) {
	switch {
	case raw.Kind() == '0':
		c.fault("`%s` must be a string such as %s, got a number", at, quote(string(raw)))
		return
	case raw.Kind() != '"':
		c.fault("`%s` must be a string, got %s", at, describe(raw))
		return
	}
	v := text(raw)
	n := utf8.RuneCountInString(v)
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
		c.fault("`%s` must be one of %s, got %s", at, strings.Join(s.Enum, ", "), quote(v))
	case s.MinLength != nil && n < *s.MinLength:
		c.fault("`%s` must not be empty", at)
	case s.MaxLength != nil && n > *s.MaxLength:
		c.fault("`%s` is %d characters long; at most %d", at, n, *s.MaxLength)
	}
}

// integer takes whole numbers as they are usually written. JSON Schema also calls
// 1.0 and 1e1 integers; decoders do not agree, so they are refused.
func (c *checker) integer(s *Schema, at string, raw jsontext.Value) {
	lo, hi := int64(-1<<53), int64(1<<53)
	if s.Minimum != nil {
		lo = *s.Minimum
	}
	if s.Maximum != nil {
		hi = *s.Maximum
	}
	bounds := fmt.Sprintf("%d to %d", lo, hi)
	if s.Maximum == nil {
		bounds = fmt.Sprintf("%d or more", lo)
	}
	if raw.Kind() != '0' {
		c.fault("`%s` must be a number, %s, got %s", at, bounds, describe(raw))
		return
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		c.fault("`%s` must be a whole number, %s, got %s", at, bounds, clip(string(raw)))
		return
	}
	if err != nil || v < lo || v > hi {
		c.fault("`%s` must be %s, got %s", at, bounds, clip(string(raw)))
	}
}

// array stops at the first fault that would not be told anyway: a list may be long.
func (c *checker) array(s *Schema, at string, raw jsontext.Value) {
	if raw.Kind() != '[' {
		c.fault("`%s` must be a list, got %s", at, describe(raw))
		return
	}
	n := length(raw)
	if s.MaxItems != nil && n > *s.MaxItems {
		c.fault("`%s` holds %d %s; at most %d a call", at, n, at, *s.MaxItems)
		return
	}
	if s.MinItems != nil && n < *s.MinItems {
		c.fault("`%s` must not be empty", at)
		return
	}
	if s.Items == nil {
		return
	}
	eachItem(raw, func(i int, value jsontext.Value) bool {
		c.value(s.Items, fmt.Sprintf("%s[%d]", at, i), value)
		return len(c.faults) < maxTold
	})
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
