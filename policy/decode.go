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
// node, takes numbers for text, and passes over null. Tags: `yaml` (name,
// ",inline"), `doc` (what it is), `enum` (the words allowed), `min` (the least
// number), `required`, `unique` (no item of a list twice), `null` (null is a
// value, to a type that decodes itself). A type may decode itself as a
// yaml.Unmarshaler or an encoding.TextUnmarshaler.

// into decodes n into v, which can be set. tag is the tag of v's field.
func (d *document) into(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	if d.refused[n] {
		return
	}
	if n.Tag == "!!null" {
		if itself := v.Addr().Type().Implements(reflect.TypeFor[yaml.Unmarshaler]()); !itself || tag.Get("null") != "true" {
			d.fault(path, named(path)+" has no value", "leave the key out, or write {} for an empty section")
		}
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
		d.itselfText(n, x, path)
	case *time.Duration:
		if d.scalar(n, path, "a duration such as 10m, 24h or 30d") {
			duration, err := ParseDuration(n.Value)
			d.check(n, path, err)
			*x = duration
		}
	default:
		d.byKind(n, v, path, tag)
	}
	if tag.Get("unique") == "true" {
		d.unique(n, path)
	}
}

// itself lets a type decode itself. What yaml.v3 would be lax about within a
// section or a list is looked at first, against the fields and items of the type.
func (d *document) itself(n *yaml.Node, v reflect.Value, u yaml.Unmarshaler, path string) {
	if !d.readable(n) {
		d.bad[path] = true
		return
	}
	before, scratch := len(d.faults), reflect.New(v.Type()).Elem()
	switch {
	case n.Kind == yaml.MappingNode && v.Kind() == reflect.Struct && fieldsOf(v.Type()).tagged():
		d.object(n, scratch, path)
	case n.Kind == yaml.SequenceNode && v.Kind() == reflect.Slice:
		d.list(n, scratch, path, "")
	}
	if len(d.faults) > before {
		d.bad[path] = true
		return
	}
	d.check(n, path, u.UnmarshalYAML(n))
}

func (d *document) itselfText(n *yaml.Node, u encoding.TextUnmarshaler, path string) {
	if !d.scalar(n, path, "text") {
		return
	}
	if n.Value == "" {
		d.fault(path, named(path)+" is empty", "")
		return
	}
	if err := u.UnmarshalText([]byte(n.Value)); err != nil {
		d.check(n, path, err)
		return
	}
	d.tagged(n, path, "text", "!!str", "!!timestamp")
}

// unique refuses a word that stands twice in a list: one of them was meant to be
// another.
func (d *document) unique(n *yaml.Node, path string) {
	seen := map[string]bool{}
	for i, item := range n.Content {
		if n.Kind != yaml.SequenceNode || item.Kind != yaml.ScalarNode || d.refused[item] {
			continue
		}
		if seen[item.Value] {
			d.fault(join(path, strconv.Itoa(i)), fmt.Sprintf("%s is twice in %s", quote(item.Value), named(path)), "write it once")
		}
		seen[item.Value] = true
	}
}

// oneLine is an error of another's, which may quote the whole value.
func oneLine(err error) string {
	text := err.Error()
	if t, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = strings.Join(t.Errors, "; ")
	}
	return cut(strings.Join(strings.Fields(text), " "), 300)
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
	default:
		d.check(n, path, fmt.Errorf("a key of Go type %s cannot be read", v.Type()))
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
		child := join(path, key.Value)
		d.docs[child] = f.Tag.Get("doc")
		d.into(value, v.FieldByIndex(f.Index), child, f.Tag)
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

// check notes the error of a type that decodes itself. It may name a line of
// its own, as in "line 7: why".
func (d *document) check(n *yaml.Node, path string, err error) {
	if err == nil {
		return
	}
	line, why := lineIn(strings.TrimPrefix(oneLine(err), "yaml: "))
	hint := ""
	if h, ok := errors.AsType[*hinted](err); ok {
		hint = h.hint
	}
	d.fault(path, named(path)+": "+why, hint)
	if at, ok := onLine(n, line); ok {
		f := &d.faults[len(d.faults)-1]
		f.Line, f.Column = at.line, at.column
	}
}

// onLine is where the first value on a line stands.
func onLine(n *yaml.Node, line int) (position, bool) {
	if n.Line == line {
		return placeOfNode(n), true
	}
	for _, c := range n.Content {
		if at, ok := onLine(c, line); ok {
			return at, true
		}
	}
	return position{}, false
}

func (d *document) unknown(path string, key *yaml.Node, fields fields) {
	d.bad[path] = true
	if why, ok := notBuilt(key.Value); ok {
		d.faultAt(placeOfNode(key), why, "leave the key out")
		return
	}
	d.faultAt(placeOfNode(key), fmt.Sprintf("unknown key %s in %s", quote(key.Value), named(path)), d.suggest(key.Value, fields.names()))
}
