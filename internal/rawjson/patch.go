package rawjson

import (
	"errors"
	"fmt"
	"slices"
)

// MaxOperations is how many operations one patch may have.
const MaxOperations = 100

// Patch is a parsed JSON Patch (RFC 6902).
type Patch struct{ operations []Operation }

// Operation is one step of a patch. From is set for move and copy, Value, the
// value's bytes, for add, replace and test.
type Operation struct {
	Op         string
	Path, From Pointer
	Value      []byte
}

// Operations returns the operations in order.
func (p Patch) Operations() []Operation { return slices.Clone(p.operations) }

// ParsePatch reads a patch, more strictly than RFC 6902 asks: a member that the
// operation does not use is refused, not ignored, because whoever wrote it
// expected something of it.
func ParsePatch(data []byte) (Patch, error) {
	t, err := parse(data)
	if err != nil {
		return Patch{}, fmt.Errorf("patch: %w", err)
	}
	if t.kind(0) != '[' {
		return Patch{}, errors.New("patch: must be an array of operations")
	}
	if n := t.nodes[0].count; n > MaxOperations {
		return Patch{}, fmt.Errorf("patch: %d operations, at most %d are allowed", n, MaxOperations)
	}
	var p Patch
	for i, n := range t.children(0) {
		op, err := t.operation(n)
		if err != nil {
			return Patch{}, fmt.Errorf("patch operation %d: %w", i, err)
		}
		p.operations = append(p.operations, op)
	}
	return p, nil
}

// operation reads one object of a patch.
func (t *tree) operation(n int) (op Operation, err error) {
	if t.kind(n) != '{' {
		return op, errors.New("must be an object")
	}
	members := t.index(n)
	if op.Op, err = t.text(members, "op"); err != nil {
		return op, err
	}
	needs, ok := memberOf(op.Op)
	if !ok {
		return op, fmt.Errorf("unknown op %.40q", op.Op)
	}
	if err := t.onlyMembers(n, op.Op, needs); err != nil {
		return op, err
	}
	if op.Path, err = t.pointer(members, "path"); err != nil {
		return op, err
	}
	switch needs {
	case "from":
		op.From, err = t.pointer(members, "from")
	case "value":
		v, ok := members["value"]
		if !ok {
			return op, fmt.Errorf("%s needs a value", op.Op)
		}
		op.Value = slices.Clone(t.raw(v))
	}
	return op, err
}

// memberOf is the member that an op has beside op and path.
func memberOf(op string) (member string, ok bool) {
	switch op {
	case "add", "replace", "test":
		return "value", true
	case "move", "copy":
		return "from", true
	case "remove":
		return "", true
	}
	return "", false
}

func (t *tree) onlyMembers(n int, op, needs string) error {
	for _, c := range t.children(n) {
		name := string(t.name(c))
		if name != "op" && name != "path" && (name != needs || needs == "") {
			return fmt.Errorf("%s has no member %.40q", op, name)
		}
	}
	return nil
}

// text is the member of that name, which must be a string.
func (t *tree) text(members map[string]int, name string) (string, error) {
	n, ok := members[name]
	if !ok {
		return "", fmt.Errorf("%q is missing", name)
	}
	if t.kind(n) != '"' {
		return "", fmt.Errorf("%q must be a string", name)
	}
	return string(unquote(t.raw(n), true)), nil
}

func (t *tree) pointer(members map[string]int, name string) (Pointer, error) {
	s, err := t.text(members, name)
	if err != nil {
		return Pointer{}, err
	}
	p, err := ParsePointer(s)
	if err != nil {
		return Pointer{}, fmt.Errorf("%q: %w", name, err)
	}
	return p, nil
}
