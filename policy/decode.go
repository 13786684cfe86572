package policy

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// The strict decoder: yaml.v3's own names no line for an unknown key inside a
// node, and takes numbers for text. Tags: `yaml` (name, ",inline"), `enum` (the
// words allowed), `min` (the least number), `required` ("true"). A type may decode itself as a
// yaml.Unmarshaler or an encoding.TextUnmarshaler; where a yaml.Unmarshaler is a
// struct, the keys of a mapping are still held against its fields.

// into decodes n into v, which can be set. tag is the tag of v's field.
func (d *document) into(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	if n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		return // vet has said so
	}
	if n.Tag == "!!null" {
		d.null(v, path)
		return
	}
	if v.Type() == reflect.TypeFor[*yaml.Node]() {
		v.Set(reflect.ValueOf(n))
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch x := v.Addr().Interface().(type) {
	case yaml.Unmarshaler:
		d.itself(n, v, x, path)
	case encoding.TextUnmarshaler:
		if d.scalar(n, path, "text") {
			d.check(path, x.UnmarshalText([]byte(n.Value)))
		}
	case *time.Duration:
		if d.scalar(n, path, "a duration such as 10m, 24h or 30d") {
			duration, err := ParseDuration(n.Value)
			d.check(path, err)
			*x = duration
		}
	default:
		d.byKind(n, v, path, tag)
	}
}

// null leaves a type that decodes itself as it is, as yaml.v3 does: a store may
// know a null. Elsewhere it is a key whose value was forgotten.
func (d *document) null(v reflect.Value, path string) {
	if !v.Addr().Type().Implements(reflect.TypeFor[yaml.Unmarshaler]()) {
		d.fault(path, named(path)+" has no value", "leave the key out, or write {} for an empty section")
	}
}

func (d *document) itself(n *yaml.Node, v reflect.Value, u yaml.Unmarshaler, path string) {
	if err := u.UnmarshalYAML(n); err != nil {
		d.check(path, err)
		return
	}
	if n.Kind == yaml.MappingNode && v.Kind() == reflect.Struct {
		fields := fieldsOf(v.Type())
		for key := range pairs(n) {
			if _, ok := fields.find(key.Value); !ok && fields.tagged() {
				d.unknown(path, key, fields)
			}
		}
	}
}

func oneLine(err error) string {
	var t *yaml.TypeError
	if errors.As(err, &t) {
		return strings.Join(t.Errors, "; ")
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

func (d *document) byKind(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	switch v.Kind() {
	case reflect.Struct:
		d.object(n, v, path)
	case reflect.Map:
		d.table(n, v, path, tag)
	case reflect.Slice:
		d.list(n, v, path, tag)
	case reflect.String:
		if d.text(n, path, tag) {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		if d.tagged(n, path, "true or false", "!!bool") {
			v.SetBool(n.Value == "true" || n.Value == "True" || n.Value == "TRUE")
		}
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		d.integer(n, v, path, tag)
	case reflect.Float64, reflect.Float32:
		d.float(n, v, path)
	default:
		d.check(path, fmt.Errorf("a key of Go type %s cannot be read", v.Type()))
	}
}

func (d *document) object(n *yaml.Node, v reflect.Value, path string) {
	if !d.shaped(n, path, yaml.MappingNode, "a section with keys") {
		return
	}
	fields := fieldsOf(v.Type())
	for key, value := range pairs(n) {
		f, ok := fields.find(key.Value)
		if !ok {
			d.unknown(path, key, fields)
			continue
		}
		d.into(value, v.FieldByIndex(f.Index), join(path, key.Value), f.Tag)
	}
	for _, f := range fields {
		if f.Tag.Get("required") == "true" {
			d.require(path, f.Name)
		}
	}
}

// require notes that a section lacks a key.
func (d *document) require(path, key string) {
	if !d.has(join(path, key)) {
		d.fault(path, fmt.Sprintf("%s has no %q", named(path), key), fmt.Sprintf(`add "%s: ..."`, key))
	}
}

func (d *document) table(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	if !d.shaped(n, path, yaml.MappingNode, "a section with names as keys") {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range pairs(n) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.into(value, item, join(path, key.Value), tag)
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), item)
	}
}

func (d *document) list(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	if !d.shaped(n, path, yaml.SequenceNode, "a list, as in [a, b]") {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.into(item, v.Index(i), join(path, strconv.Itoa(i)), tag)
	}
}

func (d *document) check(path string, err error) {
	if err == nil {
		return
	}
	line, why := lineIn(strings.TrimPrefix(oneLine(err), "yaml: "))
	d.fault(path, named(path)+": "+why, "")
	if f := &d.faults[len(d.faults)-1]; line > f.Line {
		f.Line, f.Column = line, 0
	}
}

func (d *document) unknown(path string, key *yaml.Node, fields fields) {
	d.bad[path] = true
	if why, ok := notBuilt(key.Value); ok {
		d.faultAt(key, why, "leave the key out")
		return
	}
	d.faultAt(key, fmt.Sprintf("unknown key %q in %s", key.Value, named(path)), suggest(key.Value, fields.names()))
}

func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// named is how a fault calls the value at a path: "queues.orders.redrive".
func named(path string) string {
	if path == "" {
		return "the file"
	}
	return strings.ReplaceAll(path, "/", ".")
}
