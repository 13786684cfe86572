package policy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// badValue is a value that a key must refuse. shape: an editor sees it, too.
type badValue struct {
	name  string
	shape bool
	make  func(good string) string
}

// allowed are values that are bad for most keys of their shape and good here.
var allowed = map[string]string{
	"queues/*/patch/allow/*: \"\"":  "the pointer of the whole document",
	"queues/*/redact/paths/*: \"\"": "the pointer of the whole document",
}

func value(name, text string) badValue {
	return badValue{name, false, func(string) string { return text }}
}

// shaped are values that are wrong by their shape alone.
func shaped(texts ...string) []badValue {
	var all []badValue
	for _, text := range texts {
		all = append(all, badValue{text, true, func(string) string { return text }})
	}
	return all
}

// values are well shaped and wrong.
func values(texts ...string) []badValue {
	all := shaped(texts...)
	for i := range all {
		all[i].shape = false
	}
	return all
}

// ofFile are values that spoil the file as a whole, or are refused before anybody
// looks which key they stand at.
func ofFile() []badValue {
	return []badValue{
		value("NUL", "\"a\x00b\""),
		value("not UTF-8", "\"a\xffb\""),
		value("half a character", "\"a\xc3\""),
		value("no character", "\"a\uffffb\""),
		value("a lone carriage return", "a\rb"),
		value("a line separator", "\"a\u2028b\""),
		value("a tab in the margin", "\n\t\tx: y"),
		value("a secret in a comment", "x # postgres://u:hunter2@db/app\n"),
		value("an unclosed quote", `"x`),
		value("an unclosed bracket", `[x`),
		value("an undefined escape", `"\q"`),
		value("deeper than a parser goes", strings.Repeat("[", 20_000)),
		value("too deep", strings.Repeat("[", 60)+strings.Repeat("]", 60)),
		value("a long list", "["+strings.Repeat("a, ", 1001)+"]"),
		value("a long section", longSection()),
		value("a second document", "x}\n---\n{}\n---\n{"),
	}
}

// anywhere are values that no key takes.
func anywhere() []badValue {
	return []badValue{
		value("a tag", "!own x"),
		value("binary", "!!binary aGVsbG8="),
		{"a tag on what is good", false, func(good string) string { return "!!str " + good }},
		{"an anchor", false, func(good string) string { return "&a " + good }},
		value("an alias", "*a"),
		value("a merge key", "{<<: {a: b}}"),
		value("NUL, escaped", `"a\0b"`),
		value("ESC, escaped", `"\e[31m"`),
		value("another reading order", `"a\u202eb"`),
		value("a byte order mark, escaped", `"\ufeff"`),
		value("a URL with a password", `"postgres://u:hunter2@db/app"`),
		value("a key with a password", `{"postgres://u:hunter2@db/app": 1}`),
		value("a long key", "{"+strings.Repeat("k", 300)+": 1}"),
		value("a number as key", "{7: x}"),
		value("a list as key", "{[a]: x}"),
		value("a key with a tab", `{"a\tb": x}`),
		value("a key twice", "{a: b, a: b}"),
	}
}

func longSection() string {
	var b strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&b, "k%d: x, ", i)
	}
	return "{" + b.String() + "}"
}

func badValues(t *testing.T, key schemaKey) []badValue {
	t.Helper()
	all := anywhere()
	if !strings.Contains(key.pattern, "/") {
		all = append(all, ofFile()...)
	}
	if !isExpression(key) {
		all = append(all, value("a private key", `"-----BEGIN OPENSSH PRIVATE KEY----- hunter2"`))
	} else {
		all = slices.DeleteFunc(all, func(b badValue) bool { return b.name == "a URL with a password" })
	}
	if !takesNull(key.shape) {
		all = append(all, shaped("null", "~", "")...)
	}
	if !strings.HasSuffix(key.pattern, "/*") {
		name := key.pattern[strings.LastIndexByte(key.pattern, '/')+1:]
		all = append(all, badValue{"the key twice", false, func(good string) string { return good + ",\n" + name + ": " + good }})
	}
	return append(all, ofShape(t, key)...)
}

func isExpression(key schemaKey) bool {
	return key.pattern == "errors/*/match" || strings.Contains(key.pattern, "/redact/text")
}

func takesNull(shape map[string]any) bool {
	if types, ok := shape["type"].([]any); ok {
		return slices.Contains(types, any("null"))
	}
	several, _ := shape["anyOf"].([]any)
	return slices.ContainsFunc(several, func(s any) bool { return takesNull(s.(map[string]any)) })
}

// ofShape are the bad values of a key by what the schema says of it.
func ofShape(t *testing.T, key schemaKey) []badValue {
	t.Helper()
	if key.shape["const"] != nil && key.shape["type"] == nil {
		return append(ofText(key), shaped("null")...)
	}
	switch key.shape["type"] {
	case "string":
		return ofText(key)
	case "integer":
		return ofNumber(key.shape)
	case "boolean":
		return shaped("yes", "on", "y", "no", "off", `"true"`, "1", "0", "[true]", "{a: b}", "tru", "1.0", "2026-01-01")
	case "array":
		return ofList(key.shape)
	case "object":
		return ofSection(key)
	}
	several, _ := key.shape["anyOf"].([]any)
	if several == nil {
		several, _ = key.shape["oneOf"].([]any)
	}
	if len(several) == 0 {
		t.Fatalf("no bad values are known for the shape %v of %s", key.shape, key.pattern)
	}
	first, second := several[0].(map[string]any), several[len(several)-1].(map[string]any)
	switch {
	case first["enum"] != nil && second["type"] == "integer": // attempts
		return append(shaped("some", "Reset", `"5"`, "-1", "1001", "1.5", "true", "[reset]", "{a: b}", `""`, "2026-01-01"), values("007", "+5", "0x5", "1_0")...)
	case first["type"] == "string" && second["type"] == "array": // one or more
		return append(shaped("5", "true", "1.5", `""`, "[]", "[5]", `[a, ""]`, "[[a]]", "[~]", "{a: b}", "[{a: b}]", "[a, a]"), values("2026-01-01")...)
	case first["type"] == "object": // a section by kind
		return shaped("x", "5", "true", "[a]", "{nonsense: 1}", "{}")
	}
	return ofStore(second)
}

// ofStore are values of a type that a store decodes itself.
func ofStore(whole map[string]any) []badValue {
	if whole["type"] == "object" && whole["properties"] != nil {
		return append(shaped("[a]", "{nonsense: 1}", "[[a]]"), values("{nonsense: {a: b}}")...)
	}
	return nil
}

func ofText(key schemaKey) []badValue {
	long := strings.Repeat("x", 5000)
	all := shaped("7", "-7", "1.5", "true", "false", "[a]", "{a: b}")
	if key.shape["enum"] != nil {
		return append(all, shaped("nonsense", "NEVER", `""`, `" never"`, `"never\n"`, "2026-01-01", long)...)
	}
	if key.shape["const"] != nil {
		return append(all, shaped("nonsense", `""`, "Postgres", long)...)
	}
	if p, ok := key.shape["pattern"].(string); ok {
		return append(all, ofPattern(regexp.MustCompile(p))...)
	}
	all = append(all, values(".inf", ".nan")...)
	all = append(all, values(emptyText(key)...)...)
	switch {
	case isExpression(key):
		all = append(all, values("'('", "'(?=x)'", `'\'`, "'[a'", "'a{2000}'", "'*'")...)
		return slices.DeleteFunc(all, func(b badValue) bool { return b.name == "2026-01-01" })
	case key.store():
		return all
	}
	return append(all, values(strings.Repeat("x", 5000), `"a\nb"`, `"a\tb"`)...)
}

// emptyText is no value of the policy's own keys; to a store it may be one.
func emptyText(key schemaKey) []string {
	if key.store() {
		return nil
	}
	return []string{`""`}
}

func ofPattern(p *regexp.Regexp) []badValue {
	switch {
	case p.MatchString("10m"):
		return append(shaped("10", `"10"`, "10 m", "10M", "1w", "1y", "1.5d", "-5m", "+5m", ".5h", "5.m", "1µs", "1ns", "1us", "PT5M", "1:30", "190:20:30", `""`, "soon", "0d", "010d"),
			values("0s", "0h0m", "99999d", "36501d", "2562047h", "99999999999999h", strings.Repeat("9", 5000)+"h", "876001h")...)
	case p.MatchString("5/s"):
		return append(shaped("5", "5/d", "-1/s", "+1/s", "nan/s", "inf/s", "1e3/s", "0x1p4/s", ".5/s", "5./s", "1_0/s", "5/s/s", "/s", "5/", `""`, "5 / s", "5/S", "1.2.3/s"),
			values("0/s", "0.0/s", "0.001/h", "1000001/s", strings.Repeat("9", 5000)+"/s", "0."+strings.Repeat("0", 400)+"1/h")...)
	case p.MatchString("2026-11-27T00:00"):
		return append(shaped("2026-01-01", "2026-1-1T00:00", "2026-01-01T00:00Z", `"2026-01-01T00:00+01:00"`, "2026-01-01T00:00:00.5", "2026-01-01T00:00:00,5", "2026-01-01 00:00", "now", `""`, "26-01-01T00:00"),
			values("2026-13-01T00:00", "2026-02-30T00:00", "2026-01-01T24:00", "2026-01-01T00:60", "2026-01-01T00:00:60")...)
	}
	panic("no bad values are known for the pattern " + p.String())
}

func ofNumber(shape map[string]any) []badValue {
	all := append(shaped("x", `"5"`, "1.5", "190:20", "true", "[5]", "{a: b}", "2026-01-01", "99999999999999999999", "1000000001", "-1"),
		values("1e3", ".inf", ".nan", "010", "00", "0x10", "0o10", "0b1", "+5", "1_000", "-0")...)
	if shape["minimum"] == 1.0 {
		all = append(all, shaped("0")...)
	}
	return all
}

func ofList(shape map[string]any) []badValue {
	all := shaped("x", "5", "true", "{a: b}", "2026-01-01", "[~]")
	if items, _ := shape["items"].(map[string]any); items["type"] == "string" {
		all = append(all, shaped("[5]", "[[a]]", "[{a: b}]")...)
	}
	if shape["uniqueItems"] == true {
		all = append(all, badValue{"an item twice", true, func(good string) string {
			item, _, _ := strings.Cut(strings.TrimPrefix(good, "[\n"), ",\n")
			return "[" + item + ", " + item + "]"
		}})
	}
	return all
}

func ofSection(key schemaKey) []badValue {
	all := shaped("x", "5", "true", "[a]", "2026-01-01", "[]")
	if key.shape["additionalProperties"] == false {
		all = append(all, shaped("{nonsense: 1}", `{"": 1}`)...)
	}
	if key.shape["propertyNames"] != nil {
		all = append(all, shaped(`{"": {}}`, "{A: {}}", "{-a: {}}", "{a/b: {}}", "{.a: {}}", "{"+strings.Repeat("x", 64)+": {}}")...)
	}
	return all
}
