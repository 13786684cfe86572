package policy

import (
	"iter"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// fields are the keys of a struct in the order of its declaration, those of
// inlined structs among them.
type fields []reflect.StructField

func fieldsOf(t reflect.Type) fields {
	var all fields
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline" && f.Type.Kind() == reflect.Struct:
			for _, inner := range fieldsOf(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				all = append(all, inner)
			}
		case f.IsExported() && name != "-":
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			f.Name = name
			all = append(all, f)
		}
	}
	return all
}

func (fs fields) find(name string) (reflect.StructField, bool) {
	for _, f := range fs {
		if f.Name == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// tagged says that the keys were named, and not merely happen to be fields.
func (fs fields) tagged() bool {
	return slices.ContainsFunc(fs, func(f reflect.StructField) bool { return f.Tag.Get("yaml") != "" })
}

func (fs fields) names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return names
}

// pairs are the keys of a mapping with their values, as they stand.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}
