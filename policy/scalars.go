package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

func (d *document) text(n *yaml.Node, path string, tag reflect.StructTag) bool {
	if !d.tagged(n, path, "text", "!!str") {
		return false
	}
	words, limited := tag.Lookup("enum")
	if known := strings.Split(words, ","); limited && !slices.Contains(known, n.Value) {
		d.fault(path, fmt.Sprintf("%s is not a value of %s", quote(n.Value), named(path)), d.suggest(n.Value, known))
		return false
	}
	return true
}

// maxInt bounds every number of a policy, so that sums of them cannot overflow.
const maxInt = 1_000_000_000

func (d *document) integer(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	if !d.tagged(n, path, "a whole number", "!!int") {
		return
	}
	i, ok := decimal(n.Value)
	if !ok {
		d.fault(path, fmt.Sprintf("%q is not a whole number up to %d", last(path), maxInt), "write it in digits, with no sign in front, no leading 0 and no _")
		return
	}
	if least, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil && i < least {
		d.fault(path, fmt.Sprintf("%q must be at least %d", last(path), least), "leave the key out for its default")
		return
	}
	if v.OverflowInt(i) {
		d.fault(path, fmt.Sprintf("%q is too large", last(path)), "")
		return
	}
	v.SetInt(i)
}

// decimal reads a number as everybody reads it: to YAML 010 is 8 for some and 10
// for others.
func decimal(s string) (int64, bool) {
	i, err := strconv.ParseInt(s, 10, 64)
	return i, err == nil && strconv.FormatInt(i, 10) == s && i <= maxInt && i >= -maxInt
}

func (d *document) scalar(n *yaml.Node, path, want string) bool {
	return d.shaped(n, path, yaml.ScalarNode, want)
}

func (d *document) shaped(n *yaml.Node, path string, kind yaml.Kind, want string) bool {
	if n.Kind != kind {
		d.fault(path, fmt.Sprintf("%s must be %s, and this is %s", named(path), want, shape(n)), "")
	}
	return n.Kind == kind
}

func (d *document) tagged(n *yaml.Node, path, want string, tags ...string) bool {
	if n.Kind == yaml.ScalarNode && slices.Contains(tags, n.Tag) {
		return true
	}
	hint := ""
	if n.Kind == yaml.ScalarNode && tags[0] == "!!str" {
		hint = "put it in quotes"
	}
	d.fault(path, fmt.Sprintf("%s must be %s, and this is %s", named(path), want, shape(n)), hint)
	return false
}

func shape(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!int":
		return "a number"
	case n.Tag == "!!float":
		return "a fraction or a number out of range"
	case n.Tag == "!!bool":
		return "true or false"
	case n.Tag == "!!timestamp":
		return "a date"
	}
	return "text"
}
