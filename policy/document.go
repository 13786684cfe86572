package policy

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxFile bounds every file that a policy consists of, in bytes.
const maxFile = 1 << 20

// document is one YAML file: its faults so far, and where each path of it
// stands. A path joins keys and list indexes by a slash: "queues/a/rules/0".
type document struct {
	file    string
	faults  []Fault
	at      map[string]position
	docs    map[string]string   // what the key at a path is: the hint of a fault that has none of its own
	bad     map[string]bool     // paths with a fault of their own
	refused map[*yaml.Node]bool // by vet; nobody reads them
	leaks   []leak
}

func newDocument(file string) *document {
	return &document{
		file: file, at: map[string]position{"": {1, 1}}, docs: map[string]string{"": `a policy starts with "version: 1"`},
		bad: map[string]bool{}, refused: map[*yaml.Node]bool{}, leaks: leaks(),
	}
}

type position struct{ line, column int } // from 1

// fault notes a fault at a path, or where its nearest parent stands.
func (d *document) fault(path, why, hint string) {
	d.bad[path] = true
	d.faultAt(d.where(path), why, or(hint, d.about(path)))
}

func (d *document) faultAt(p position, why, hint string) {
	d.faults = append(d.faults, Fault{File: d.file, Line: p.line, Column: p.column, Why: why, Hint: hint})
}

func (d *document) where(path string) position {
	for {
		if p, ok := d.at[path]; ok {
			return p
		}
		cut := strings.LastIndexByte(path, '/')
		if cut < 0 {
			return d.at[""]
		}
		path = path[:cut]
	}
}

// about says what the key at a path is, or its nearest parent that is known.
func (d *document) about(path string) string {
	for path != "" {
		if doc := d.docs[path]; doc != "" {
			return last(path) + ": " + doc
		}
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	return d.docs[""]
}

func (d *document) has(path string) bool {
	_, ok := d.at[path]
	return ok
}

func placeOfNode(n *yaml.Node) position { return position{n.Line, n.Column} }

// parse reads the only document of data; nil after a fault that leaves nothing
// to look at.
func (d *document) parse(data []byte) *yaml.Node {
	if len(data) > maxFile {
		d.fault("", "the file is larger than 1 MiB", "split what is not policy out of it")
		return nil
	}
	if !d.scan(data) {
		return nil
	}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.fault("", "the file is empty", "")
		return nil
	case err != nil:
		d.syntax(data, err)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		d.faultAt(placeOfNode(&second), "the file holds a second document", "only the first would be read: put all into one document")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(data, err)
	}
	root := doc.Content[0]
	d.at[""] = placeOfNode(root)
	d.vet(root, "")
	return root
}

// syntax turns "yaml: line 3: why" into a fault on line 3.
func (d *document) syntax(data []byte, err error) {
	line, why := lineIn(strings.TrimPrefix(err.Error(), "yaml: "))
	hint := "look around this line for a missing bracket, quote, comma or colon"
	switch {
	case strings.HasPrefix(why, "unknown anchor"):
		d.faultAt(firstAlias(data), noAnchors, "write the value out where it is used")
		return
	case strings.Contains(why, "tab"), strings.Contains(why, "cannot start any token"):
		hint = "indent with spaces, and quote text that starts with a special character"
	}
	d.faultAt(position{max(1, line), 1}, "not YAML: "+why, hint)
}

// firstAlias is where the first word with a * in front stands: of an alias that
// leads nowhere yaml.v3 does not say it.
func firstAlias(data []byte) position {
	line := 1
	for rest := range bytes.Lines(data) {
		for i, c := range rest {
			if c == '*' && (i == 0 || bytes.IndexByte([]byte(" \t[{,"), rest[i-1]) >= 0) {
				return position{line, utf8.RuneCount(rest[:i]) + 1}
			}
		}
		line++
	}
	return position{1, 1}
}

// lineIn splits "line 3: why"; the line is 0 where there is none.
func lineIn(text string) (line int, why string) {
	rest, _ := strings.CutPrefix(text, "line ")
	if number, why, ok := strings.Cut(rest, ": "); ok && rest != text {
		if line, err := strconv.Atoi(number); err == nil {
			return line, why
		}
	}
	return 0, text
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "/" + key
}

func last(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// named is how a fault calls the value at a path: "queues.orders.redrive".
func named(path string) string {
	if path == "" {
		return "the file"
	}
	return strings.ReplaceAll(path, "/", ".")
}
