package args

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxBytes is how large the arguments of one call may be. Every argument at its
// longest fits several times.
const MaxBytes = 4 << 20

// Decode checks raw against the schema and decodes it into an A. The error's
// text is for the client. Nil or null are no arguments.
func Decode[A any](s *Schema, raw jsontext.Value) (A, error) {
	var a A
	if len(raw) == 0 || raw.Kind() == 'n' {
		raw = jsontext.Value("{}")
	}
	if len(raw) > MaxBytes {
		return a, fmt.Errorf("the arguments are %d bytes; at most %d a call", len(raw), MaxBytes)
	}
	if err := strict(raw); err != nil {
		return a, err
	}
	if err := s.Check(raw); err != nil {
		return a, err
	}
	if err := json.Unmarshal(raw, &a, json.RejectUnknownMembers(true)); err != nil {
		return *new(A), errors.New("the arguments do not fit the tool's input schema")
	}
	return a, nil
}

// strict refuses what decoders read differently: names that stand twice and text
// that is no UTF-8, at any depth.
func strict(raw jsontext.Value) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	_, err := d.ReadValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	if err == io.EOF {
		return nil
	}
	at := ""
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && e.JSONPointer != "" {
		at = " at " + quote(string(e.JSONPointer))
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fmt.Errorf("the arguments hold a name twice%s; send each once", at)
	}
	return fmt.Errorf("the arguments are not valid JSON in UTF-8%s", at)
}
