package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxFile bounds every file that a policy consists of, in bytes.
const maxFile = 1 << 20

// maxDepth is more than any section needs; paths of every value are kept.
const maxDepth = 40

// document is one YAML file: its faults so far, and where each path of it
// stands. A path joins keys and list indexes by a slash: "queues/a/rules/0".
type document struct {
	file   string
	faults []Fault
	at     map[string]position
	bad    map[string]bool // paths with a fault of their own
	leaks  []leak
}

func newDocument(file string) *document {
	return &document{file: file, at: map[string]position{"": {1, 1}}, bad: map[string]bool{}, leaks: leaks()}
}

type position struct{ line, column int }

// fault notes a fault at a path, or where its nearest parent stands.
func (d *document) fault(path, why, hint string) {
	p := d.where(path)
	d.bad[path] = true
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

func (d *document) has(path string) bool {
	_, ok := d.at[path]
	return ok
}

func (d *document) faultAt(n *yaml.Node, why, hint string) {
	d.faults = append(d.faults, Fault{File: d.file, Line: n.Line, Column: n.Column, Why: why, Hint: hint})
}

// parse reads the only document of data; nil after a fault that leaves nothing
// to look at.
func (d *document) parse(data []byte) *yaml.Node {
	if len(data) > maxFile {
		d.fault("", "the file is larger than 1 MiB", "split what is not policy out of it")
		return nil
	}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.fault("", "the file is empty", `a policy starts with "version: 1"`)
		return nil
	case err != nil:
		d.syntax(err)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		d.faultAt(&second, "the file holds a second document", "only the first would be read: put all into one document")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	root := doc.Content[0]
	d.at[""] = position{root.Line, root.Column}
	d.vetComments(&doc)
	d.vet(root, "")
	return root
}

// syntax turns "yaml: line 3: why" into a fault on line 3.
func (d *document) syntax(err error) {
	line, why := lineIn(strings.TrimPrefix(err.Error(), "yaml: "))
	f := Fault{File: d.file, Line: max(1, line), Why: "not YAML: " + why}
	if strings.Contains(why, "tab") || strings.Contains(why, "cannot start any token") {
		f.Hint = "indent with spaces, and quote text that starts with a special character"
	}
	d.faults = append(d.faults, f)
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

// vet refuses what no section of a policy may hold, and notes where every path
// stands. Anchors and merge keys are refused as a whole: what holds for a queue
// is to be read where the queue stands, and there is nothing to blow up.
func (d *document) vet(n *yaml.Node, path string) {
	d.vetComments(n)
	switch {
	case strings.Count(path, "/") > maxDepth:
		d.faultAt(n, "sections are nested too deeply", "")
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.faultAt(n, "anchors and aliases are not read", "write the value out where it is used")
		return
	case n.Style&yaml.TaggedStyle != 0:
		d.faultAt(n, fmt.Sprintf("the tag %q is not read", n.Tag), "leave the tag out")
	}
	switch n.Kind {
	case yaml.MappingNode:
		d.vetMapping(n, path)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			child := join(path, strconv.Itoa(i))
			d.at[child] = position{item.Line, item.Column}
			d.vet(item, child)
		}
	case yaml.ScalarNode:
		d.vetScalar(n, path)
	}
}

func (d *document) vetMapping(n *yaml.Node, path string) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		d.vetComments(key)
		if why, hint := badKey(key); why != "" {
			d.faultAt(key, why, hint)
			continue
		}
		if line, twice := lines[key.Value]; twice {
			d.faultAt(key, fmt.Sprintf("the key %q is written twice", key.Value), fmt.Sprintf("the first one stands on line %d", line))
			continue
		}
		lines[key.Value] = key.Line
		child := join(path, key.Value)
		d.at[child] = position{key.Line, key.Column}
		d.vet(value, child)
	}
}

func badKey(key *yaml.Node) (why, hint string) {
	switch {
	case key.Tag == "!!merge":
		return "merge keys are not read", "write the keys out where they hold"
	case !isKey(key):
		return "a key must be plain text", "quote it if it looks like a number"
	}
	return "", ""
}

func (d *document) vetScalar(n *yaml.Node, path string) {
	key := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case strings.HasSuffix(key, "_env") && !isVariable(n.Value):
		d.faultAt(n, fmt.Sprintf("%q must be the name of an environment variable", key), "a name such as REDIS_URL: the secret itself never stands in the file")
	case !isExpression(path):
		if what := d.secretIn(key, n.Value); what != "" {
			d.faultAt(n, fmt.Sprintf("%q holds %s", key, what), "put it into an environment variable and name that with a key ending in _env")
		}
	}
}

func (d *document) vetComments(n *yaml.Node) {
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		if what := d.secretIn("", comment); what != "" {
			d.faultAt(n, "a comment holds "+what, "remove it, and change the secret: it was in a file")
		}
	}
}

// isExpression says that the value at path is a regular expression, which may
// well describe a secret that is to be hidden.
func isExpression(path string) bool {
	return strings.HasPrefix(path, "errors/") || strings.Contains(path, "/redact/text/")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "/" + key
}
