package policy

import (
	"encoding"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// object is a JSON object; encoding/json sorts its keys, so that equal kinds
// give equal bytes.
type object map[string]any

const (
	namePattern     = `^[a-z0-9][a-z0-9_.-]{0,62}$`
	durationPattern = `^([1-9][0-9]{0,4}d|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$`
	ratePattern     = `^[0-9]+(\.[0-9]+)?/[smh]$`
	timePattern     = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?$`
)

// Schema is the JSON Schema (2020-12) of a policy file for editors. It is
// closed: a key it does not name is a fault. What holds between keys is beyond
// it and is found when the file is loaded.
func Schema(kinds map[string]Kind) ([]byte, error) {
	root := objectSchema(reflect.TypeFor[file]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "redrive-mcp policy"
	properties := root["properties"].(object)
	properties["version"].(object)["const"] = 1
	for _, key := range []string{"backends", "people", "groups", "queues"} {
		properties[key].(object)["propertyNames"] = object{"pattern": namePattern}
	}
	var backends, sources []any
	for _, name := range sorted(kinds) {
		backends = append(backends, kindSchema(kinds[name].NewBackend, "type", object{"const": name, "description": "kind of store"}))
		sources = append(sources, kindSchema(kinds[name].NewSource, "backend", object{"type": "string", "description": "a name of backends"}))
	}
	properties["backends"].(object)["additionalProperties"] = object{"oneOf": backends}
	queue := properties["queues"].(object)["additionalProperties"].(object)
	source := queue["properties"].(object)["source"].(object)
	source["anyOf"] = sources
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// kindSchema is a store's section with the key that chose the store.
func kindSchema(empty func() any, key string, value object) object {
	s := objectSchema(reflect.TypeOf(empty()).Elem())
	s["properties"].(object)[key] = value
	required, _ := s["required"].([]string)
	s["required"] = append([]string{key}, required...)
	return s
}

func objectSchema(t reflect.Type) object {
	properties, required := object{}, []string(nil)
	for _, f := range fieldsOf(t) {
		s := schemaOf(f.Type, f.Tag)
		if doc := f.Tag.Get("doc"); doc != "" {
			s["description"] = doc
		}
		properties[f.Name] = s
		if f.Tag.Get("required") == "true" {
			required = append(required, f.Name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s
}

func schemaOf(t reflect.Type, tag reflect.StructTag) object {
	switch t {
	case reflect.TypeFor[*yaml.Node]():
		return object{"type": "object"}
	case reflect.TypeFor[*regexp.Regexp]():
		return object{"type": "string", "minLength": 1} // no "format": editors know other expressions than RE2
	case reflect.TypeFor[time.Duration]():
		return pattern(durationPattern)
	case reflect.TypeFor[rate]():
		return pattern(ratePattern)
	case reflect.TypeFor[localTime]():
		return pattern(timePattern)
	case reflect.TypeFor[Attempts]():
		return object{"anyOf": []any{object{"enum": []string{"reset", "keep"}}, object{"type": "integer", "minimum": 0, "maximum": 1000}}}
	case reflect.TypeFor[oneOrMore]():
		text := object{"type": "string", "minLength": 1}
		return object{"anyOf": []any{text, object{"type": "array", "items": text, "minItems": 1, "maxItems": maxItems, "uniqueItems": true}}}
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(reflect.TypeFor[yaml.Unmarshaler]()):
		types := []string{"string", "number", "boolean"}
		if tag.Get("null") == "true" {
			types = append(types, "null")
		}
		scalar := object{"type": types}
		if t.Kind() == reflect.Struct && !fieldsOf(t).tagged() {
			return object{"anyOf": []any{scalar, object{"type": "object"}}}
		}
		return object{"anyOf": []any{scalar, schemaByKind(t, tag)}}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return object{"type": "string", "minLength": 1}
	}
	return schemaByKind(t, tag)
}

func pattern(expr string) object { return object{"type": "string", "pattern": expr} }

func schemaByKind(t reflect.Type, tag reflect.StructTag) object {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), tag)
	case reflect.Struct:
		return objectSchema(t)
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem(), tag), "maxProperties": maxItems}
	case reflect.Slice:
		list := object{"type": "array", "items": schemaOf(t.Elem(), tag), "maxItems": maxItems}
		if tag.Get("unique") == "true" {
			list["uniqueItems"] = true
		}
		return list
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		s := object{"type": "string"}
		if words, limited := tag.Lookup("enum"); limited {
			s["enum"] = strings.Split(words, ",")
		}
		return s
	}
	s := object{"type": "integer", "maximum": maxInt}
	if least, err := strconv.Atoi(tag.Get("min")); err == nil {
		s["minimum"] = least
	}
	return s
}
