package sqljobs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// scalarOr decodes a key that is either a plain scalar or a mapping. Decoding
// within an unmarshaler is not strict in yaml.v3, so unknown keys are refused
// here.
func scalarOr(n *yaml.Node, scalar *string, whole any) error {
	if n.Kind == yaml.ScalarNode {
		return oneName(n, scalar)
	}
	if err := known(n, reflect.TypeOf(whole).Elem()); err != nil {
		return err
	}
	return n.Decode(whole)
}

// oneName takes no number for a name: 7 and 07 would be two columns to some and one
// to others.
func oneName(n *yaml.Node, into *string) error {
	if n.ShortTag() != "!!str" {
		return fmt.Errorf("line %d: a name is expected; put it in quotes", n.Line)
	}
	*into = n.Value
	return nil
}

func known(n *yaml.Node, t reflect.Type) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a name or a mapping is expected", n.Line)
	}
	keys := map[string]bool{}
	for i := range t.NumField() {
		keys[t.Field(i).Tag.Get("yaml")] = true
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !keys[key.Value] {
			return fmt.Errorf("line %d: unknown key %q", key.Line, key.Value)
		}
	}
	return nil
}

// Columns is a column or a list of columns.
type Columns []string

// UnmarshalYAML accepts one name or a list of names.
func (c *Columns) UnmarshalYAML(n *yaml.Node) error { return names(n, (*[]string)(c)) }

func names(n *yaml.Node, into *[]string) error {
	if n.Kind == yaml.ScalarNode {
		*into = make([]string, 1)
		return oneName(n, &(*into)[0])
	}
	return n.Decode(into)
}

// Table is a table's name by its parts: [table] or [schema, table].
type Table []string

// UnmarshalYAML accepts schema.table or a list of the parts, for names that
// contain a dot.
func (t *Table) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		var name string
		err := oneName(n, &name)
		*t = strings.Split(name, ".")
		return err
	}
	return n.Decode((*[]string)(t))
}

// String is the name as a policy spells it.
func (t Table) String() string { return strings.Join(t, ".") }

// none reports whether the policy says that there is no such table.
func (t Table) none() bool { return len(t) == 1 && t[0] == "none" }

// Values is a list of values.
type Values []Value

// UnmarshalYAML refuses null, which yaml.v3 would silently leave out.
func (vs *Values) UnmarshalYAML(n *yaml.Node) error {
	for _, element := range n.Content {
		if element.ShortTag() == "!!null" {
			return fmt.Errorf("line %d: null equals nothing in SQL; use where with IS NULL", element.Line)
		}
	}
	return n.Decode((*[]Value)(vs))
}

// Days is a duration that may be given in days.
type Days time.Duration

// UnmarshalYAML accepts what time.ParseDuration does, and whole days as 7d.
func (d *Days) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := time.ParseDuration(n.Value)
	if days, ok := strings.CutSuffix(n.Value, "d"); ok {
		var count int
		count, err = strconv.Atoi(days)
		parsed = time.Duration(count) * 24 * time.Hour
	}
	if err != nil || n.Kind != yaml.ScalarNode || parsed <= 0 {
		return fmt.Errorf("line %d: %q is no duration such as 7d or 36h", n.Line, n.Value)
	}
	*d = Days(parsed)
	return nil
}

// Value is what a column is set to, or compared with. Its zero value is NULL:
// yaml.v3 calls no unmarshaler for null.
type Value struct {
	text   *string
	plain  string // a number or a boolean, as SQL spells it
	Now    bool   `yaml:"now"`
	TZ     string `yaml:"tz"`
	Unit   string `yaml:"unit"`
	Format string `yaml:"format"`
	SQL    string `yaml:"sql"`
}

// UnmarshalYAML accepts a scalar, {now: true} with tz, unit or format, or
// {sql: EXPRESSION}.
func (v *Value) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return v.scalar(n)
	}
	type shape struct {
		Now    bool   `yaml:"now"`
		TZ     string `yaml:"tz"`
		Unit   string `yaml:"unit"`
		Format string `yaml:"format"`
		SQL    string `yaml:"sql"`
	}
	var s shape
	if err := known(n, reflect.TypeFor[shape]()); err != nil {
		return err
	}
	if err := n.Decode(&s); err != nil {
		return err
	}
	if s.Now == (s.SQL != "") {
		return fmt.Errorf("line %d: a value is a scalar, {now: true} or {sql: EXPRESSION}", n.Line)
	}
	*v = Value{Now: s.Now, TZ: s.TZ, Unit: s.Unit, Format: s.Format, SQL: s.SQL}
	return nil
}

func (v *Value) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!int", "!!float":
		if _, err := strconv.ParseFloat(n.Value, 64); err != nil {
			return fmt.Errorf("line %d: %q is no number that SQL knows", n.Line, n.Value)
		}
		v.plain = n.Value
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return err
		}
		v.plain = strings.ToUpper(strconv.FormatBool(b))
	default:
		v.text = &n.Value
	}
	return nil
}
