package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
	"github.com/redrive-mcp/redrive-mcp/tools/args"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./tools -update writes it anew):\n%s", path, got)
	}
}

// TestSnapshots makes every change of what a client sees visible in review.
func TestSnapshots(t *testing.T) {
	for _, tool := range all() {
		data, err := json.Marshal(tool.definition())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		json.Indent(&b, data, "", "  ")
		b.WriteByte('\n')
		golden(t, filepath.Join("testdata", tool.name+".json"), b.Bytes())
	}
}

// TestSizes counts what a model and a client have to read.
func TestSizes(t *testing.T) {
	model, whole := 0, 0
	for _, tool := range all() {
		data, err := json.Marshal(tool.definition())
		if err != nil {
			t.Fatal(err)
		}
		var input bytes.Buffer
		json.Compact(&input, []byte(tool.input))
		model += len(tool.name) + len(tool.description) + input.Len()
		whole += len(data)
		if n := len(tool.description); n > 1000 {
			t.Errorf("the description of %s is %d bytes; at most 1000", tool.name, n)
		}
		if len(tool.name) > 30 {
			t.Errorf("%s is a long name", tool.name)
		}
	}
	t.Logf("model %d, whole %d, instructions %d bytes", model, whole, len(instructions))
	if model > 8_000 {
		t.Errorf("names, descriptions and input schemas are %d bytes; at most 8000", model)
	}
	if whole > 16_000 {
		t.Errorf("tools/list is %d bytes; at most 16000", whole)
	}
	if len(instructions) > 1_500 {
		t.Errorf("the instructions are %d bytes; at most 1500", len(instructions))
	}
}

func compile(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemasCompile(t *testing.T) {
	for _, tool := range all() {
		compile(t, tool.input)
		compile(t, tool.output)
		if _, err := args.Parse(tool.input); err != nil {
			t.Error(err)
		}
		if strings.Contains(tool.input+tool.output, `"null"`) {
			t.Errorf("%s: a null in a schema", tool.name)
		}
	}
}

// TestInputsAreClosed: every object of an input schema but a free JSON value
// refuses members it does not know.
func TestInputsAreClosed(t *testing.T) {
	for _, tool := range all() {
		s, err := args.Parse(tool.input)
		if err != nil {
			t.Fatal(err)
		}
		var walk func(at string, s *args.Schema)
		walk = func(at string, s *args.Schema) {
			if s.Type == "object" && (s.Closed == nil || *s.Closed) && !strings.HasSuffix(at, ".merge_patch") {
				t.Errorf("%s is open", at)
			}
			for name, p := range s.Properties {
				walk(at+"."+name, p)
			}
			if s.Items != nil {
				walk(at+"[]", s.Items)
			}
		}
		walk(tool.name, s)
	}
}

// TestSchemasFitTheGate: the gate's structs and the schemas have the same
// members, both ways.
func TestSchemasFitTheGate(t *testing.T) {
	for name, types := range map[string][2]any{
		"list_queues":         {gate.QueuesArgs{}, gate.QueuesResult{}},
		"group_dead_letters":  {gate.GroupArgs{}, gate.GroupResult{}},
		"list_dead_letters":   {gate.ListArgs{}, gate.ListResult{}},
		"inspect_dead_letter": {gate.InspectArgs{}, gate.InspectResult{}},
		"propose_patch":       {gate.PatchArgs{}, gate.PatchResult{}},
		"request_redrive":     {gate.RedriveArgs{}, gate.RequestResult{}},
		"get_redrive":         {gate.GetArgs{}, gate.StatusResult{}},
		"cancel_redrive":      {gate.CancelArgs{}, gate.StatusResult{}},
	} {
		i := slices.IndexFunc(all(), func(t tool) bool { return t.name == name })
		if i < 0 {
			t.Fatalf("no tool %s", name)
		}
		tool := all()[i]
		for k, text := range []string{tool.input, tool.output} {
			var s map[string]any
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			fits(t, name, reflect.TypeOf(types[k]), s)
		}
	}
}

func fits(t *testing.T, at string, typ reflect.Type, s map[string]any) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == reflect.TypeFor[gate.RawJSON]() || typ == reflect.TypeFor[gate.LookInfo]() { // left open, to save room
		return
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean",
		reflect.Slice: "array", reflect.Struct: "object", reflect.Map: "object",
	}[typ.Kind()]
	if s["type"] != want {
		t.Errorf("%s is a %s and the schema says %v", at, typ, s["type"])
		return
	}
	switch typ.Kind() {
	case reflect.Slice:
		fits(t, at+"[]", typ.Elem(), s["items"].(map[string]any))
	case reflect.Map:
		fits(t, at+"{}", typ.Elem(), s["additionalProperties"].(map[string]any))
	case reflect.Struct:
		fieldsFit(t, at, typ, s)
	}
}

func fieldsFit(t *testing.T, at string, typ reflect.Type, s map[string]any) {
	properties := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	known := map[string]bool{}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		known[name] = true
		p, ok := properties[name].(map[string]any)
		if !ok {
			if !strings.HasPrefix(at, "cancel_redrive.requests") { // which names only what changed
				t.Errorf("%s.%s is not in the schema", at, name)
			}
			continue
		}
		if always := !strings.Contains(options, "omitempty"); always != slices.Contains(required, any(name)) {
			t.Errorf("%s.%s: always there %v, and the schema says otherwise", at, name, always)
		}
		fits(t, at+"."+name, f.Type, p)
	}
	for name := range properties {
		if !known[name] {
			t.Errorf("%s.%s is not in the gate's %s", at, name, typ)
		}
	}
}

func TestBoundsAreTheGates(t *testing.T) {
	for _, c := range []struct {
		tool, path string
		want       int
	}{
		{"propose_patch", "ids/maxItems", gate.MaxIDs}, {"request_redrive", "ids/maxItems", gate.MaxIDs},
		{"inspect_dead_letter", "id/maxLength", gate.MaxIDLength}, {"request_redrive", "id/maxLength", gate.MaxIDLength},
		{"list_dead_letters", "limit/maximum", gate.MaxList}, {"group_dead_letters", "limit/maximum", gate.MaxGroups},
		{"request_redrive", "reason/maxLength", gate.MaxReason}, {"propose_patch", "note/maxLength", gate.MaxReason},
		{"propose_patch", "replace_body/maxLength", gate.MaxPatchBytes}, {"inspect_dead_letter", "offset/maximum", gate.MaxPayloadBytes},
	} {
		i := slices.IndexFunc(all(), func(t tool) bool { return t.name == c.tool })
		var s struct{ Properties map[string]map[string]any }
		if err := json.Unmarshal([]byte(all()[i].input), &s); err != nil {
			t.Fatal(err)
		}
		property, keyword, _ := strings.Cut(c.path, "/")
		if got := s.Properties[property][keyword]; got != float64(c.want) {
			t.Errorf("%s %s = %v, the gate has %d", c.tool, c.path, got, c.want)
		}
	}
	for text, n := range map[string]int{"default 10": gate.DefaultGroups, "default 20": gate.DefaultList, "4000 characters": gate.MaxShown, "64000": gate.MaxPatchBytes} {
		if !strings.Contains(text, fmt.Sprint(n)) {
			t.Errorf("the texts say %q, the gate has %d", text, n)
		}
		if !slices.ContainsFunc(all(), func(t tool) bool { return strings.Contains(t.input+t.description, text) }) {
			t.Errorf("no tool says %q", text)
		}
	}
}

// TestEveryLiteralSetsAllHints reads the source: a hint that is left out would
// be false without anybody having said so.
func TestEveryLiteralSetsAllHints(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	literals := 0
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if name, ok := lit.Type.(*ast.Ident); !ok || name.Name != "hints" {
				return true
			}
			literals++
			var set []string
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					set = append(set, kv.Key.(*ast.Ident).Name)
				}
			}
			slices.Sort(set)
			if !slices.Equal(set, []string{"destructive", "idempotent", "openWorld", "readOnly"}) {
				t.Errorf("%s sets %v", file, set)
			}
			return true
		})
	}
	if literals != len(all()) {
		t.Errorf("%d literals for %d tools", literals, len(all()))
	}
}

func TestHintsSayWhatIsTrue(t *testing.T) {
	read := hints{true, false, true, true}
	want := map[string]hints{
		"list_queues": read, "group_dead_letters": read, "list_dead_letters": read, "inspect_dead_letter": read, "get_redrive": read,
		"propose_patch": {false, false, false, false}, "request_redrive": {false, true, true, true}, "cancel_redrive": {false, true, true, false},
	}
	for _, tool := range all() {
		a := tool.definition().Annotations
		if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Fatalf("%s leaves a hint out", tool.name)
		}
		if got := (hints{*a.ReadOnlyHint, *a.DestructiveHint, *a.IdempotentHint, *a.OpenWorldHint}); got != want[tool.name] {
			t.Errorf("%s has %+v, want %+v", tool.name, got, want[tool.name])
		}
	}
}

// TestNothingApproves: no tool by name or argument can decide for a person.
func TestNothingApproves(t *testing.T) {
	for _, tool := range all() {
		for _, word := range []string{"approve", "deny", "confirm", "reveal", "delete", "purge"} {
			if strings.Contains(tool.name, word) || strings.Contains(tool.input, `"`+word) {
				t.Errorf("%s has %q", tool.name, word)
			}
		}
	}
}

func TestDocs(t *testing.T) {
	golden(t, filepath.Join("..", "docs", "tools.md"), []byte(docs(t)))
}

// docs is docs/tools.md.
func docs(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Tools\n\nWhat an agent sees, generated from the definitions in `tools/` by `go test ./tools -update`.\n\n" +
		"Every tool answers with the same JSON as structured content and as text. A refusal is a result with `isError` and one sentence. " +
		"Ids are strings; unknown, misspelt and repeated arguments are refused. No tool approves, deletes, purges or changes policy.\n\n" +
		"| tool | reads only | destructive | idempotent | open world |\n|---|---|---|---|---|\n")
	for _, tool := range all() {
		h := tool.hints
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s | %s |\n", tool.name, tool.name, yes(h.readOnly), yes(h.destructive), yes(h.idempotent), yes(h.openWorld))
	}
	for _, tool := range all() {
		s, err := tool.schema()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| argument | type | |\n|---|---|---|\n", tool.name, tool.description)
		rows(&b, "", s)
	}
	b.WriteString("\n## Instructions\n\nSent once, when a client connects.\n\n```text\n" + instructions + "\n```\n")
	return b.String()
}

func rows(b *strings.Builder, at string, s *args.Schema) {
	for _, name := range s.Names() {
		p := s.Properties[name]
		var notes []string
		if slices.Contains(s.Required, name) {
			notes = append(notes, "required")
		}
		notes = append(notes, bounds(p)...)
		if p.Description != "" {
			notes = append(notes, p.Description)
		}
		kind := p.Type
		if kind == "" {
			kind = "any"
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", at, name, kind, strings.Join(notes, "; "))
		rows(b, at+name+".", p)
		if p.Items != nil {
			rows(b, at+name+"[].", p.Items)
		}
	}
}

func bounds(p *args.Schema) (notes []string) {
	if len(p.Enum) > 0 {
		notes = append(notes, "one of `"+strings.Join(p.Enum, "`, `")+"`")
	}
	if p.Minimum != nil && p.Maximum != nil {
		notes = append(notes, fmt.Sprintf("%d to %d", *p.Minimum, *p.Maximum))
	}
	if p.MaxLength != nil {
		notes = append(notes, fmt.Sprintf("at most %d characters", *p.MaxLength))
	}
	if p.MaxItems != nil {
		notes = append(notes, fmt.Sprintf("at most %d", *p.MaxItems))
	}
	return notes
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// TestListIsAsCounted compares the wire with the definitions.
func TestListIsAsCounted(t *testing.T) {
	s, err := newServer(new(gate.Agent), all(), Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	answer := s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	data, err := json.Marshal(answer.(mcp.JSONRPCResponse).Result)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 16_000 {
		t.Errorf("tools/list is %d bytes; at most 16000", len(data))
	}
	var list struct {
		Tools []struct{ Name string } `json:"tools"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list.Tools) != len(all()) {
		t.Errorf("%d tools, %v", len(list.Tools), err)
	}
}
