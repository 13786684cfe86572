package args

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema is the part of JSON Schema 2020-12 that input schemas use. An empty
// Type accepts any value.
type Schema struct {
	Type        string             `json:"type"`
	Description string             `json:"description"`
	Properties  map[string]*Schema `json:"properties"`
	Required    []string           `json:"required"`
	Closed      *bool              `json:"additionalProperties"` // false: no other members
	Items       *Schema            `json:"items"`
	MaxItems    *int               `json:"maxItems"`
	MinItems    *int               `json:"minItems"`
	Enum        []string           `json:"enum"`
	MinLength   *int               `json:"minLength"` // characters
	MaxLength   *int               `json:"maxLength"` // characters
	Minimum     *int64             `json:"minimum"`
	Maximum     *int64             `json:"maximum"`

	names []string // of Properties, as they are written
}

// Parse reads a schema. A keyword that is not checked is an error: a schema must
// not promise what nobody enforces.
func Parse(text string) (*Schema, error) {
	var s Schema
	if err := json.Unmarshal([]byte(text), &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading an input schema: %w", err)
	}
	s.order(jsontext.Value(text))
	return &s, nil
}

// order notes how the properties follow each other: sentences and docs keep it.
func (s *Schema) order(text jsontext.Value) {
	eachMember(text, func(name string, value jsontext.Value) {
		if name == "properties" {
			eachMember(value, func(property string, v jsontext.Value) {
				s.names = append(s.names, property)
				s.Properties[property].order(v)
			})
		}
		if name == "items" {
			s.Items.order(value)
		}
	})
}

// Names are the names of the properties in the order of the schema.
func (s *Schema) Names() []string { return s.names }

func (s *Schema) closed() bool { return s.Closed != nil && !*s.Closed }
