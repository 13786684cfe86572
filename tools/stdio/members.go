package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// objectError says why a value is no object that may be read.
type objectError struct {
	syntax bool // it is not even JSON
	why    string
}

func (e *objectError) Error() string { return e.why }

// members reads one JSON object and gives back the members with the names that
// are asked for. Others are passed over. A name that stands twice, or in another
// case, is an error: decoders disagree about which of them counts.
//
// What was found is given back with an error that is not one of syntax, so that a
// message can be answered under its id.
//
// Duplicates and bad UTF-8 deeper down are let through, so that whoever owns
// that value can say what is wrong with it.
func members(object []byte, names ...string) (map[string]jsontext.Value, *objectError) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return nil, noObject(d)
	}
	d.ReadToken() // the brace that was peeked at
	found, bad := map[string]jsontext.Value{}, (*objectError)(nil)
	for d.PeekKind() != '}' {
		name, value, err := member(d)
		if err != nil {
			return found, unread(err)
		}
		if e := keep(found, names, name, value); e != nil && bad == nil {
			bad = e
		}
	}
	if !ends(d) {
		return nil, &objectError{syntax: true, why: "it is not one JSON object"}
	}
	return found, bad
}

func noObject(d *jsontext.Decoder) *objectError {
	v, err := d.ReadValue()
	switch {
	case err != nil:
		return unread(err)
	case v.Kind() == '[':
		return &objectError{why: "it is a list and not one object"}
	}
	return &objectError{why: "it is no object"}
}

// unread tells JSON that goes deeper than jsontext reads from what is no JSON, so
// that nobody looks for a syntax error. The library gives that no name but text.
func unread(err error) *objectError {
	const maxDepth = 10_000
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && e.Err != nil && e.Err.Error() == "exceeded max depth" {
		return &objectError{why: fmt.Sprintf("it is nested too deep, at most %d levels", maxDepth)}
	}
	return &objectError{syntax: true, why: "it is not JSON"}
}

func member(d *jsontext.Decoder) (string, jsontext.Value, error) {
	name, err := d.ReadToken()
	if err != nil {
		return "", nil, err
	}
	text := name.String() // the token is gone after the next read
	value, err := d.ReadValue()
	return text, value.Clone(), err
}

func keep(found map[string]jsontext.Value, names []string, name string, value jsontext.Value) *objectError {
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	if i < 0 {
		return nil
	}
	if names[i] != name {
		return &objectError{why: fmt.Sprintf("it names %s; names are case-sensitive, use %q", label(name), names[i])}
	}
	if _, twice := found[name]; twice {
		return &objectError{why: fmt.Sprintf("it names %q twice", name)}
	}
	found[name] = value
	return nil
}

// ends reads the closing brace and checks that nothing follows it.
func ends(d *jsontext.Decoder) bool {
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}
