package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	maxDepth = 40   // more than any section needs; paths of every value are kept
	maxItems = 1000 // of a list or a section: rules are compared each with each
	maxKey   = 255  // bytes
)

const noAnchors = "anchors and aliases are not read"

// vet refuses what no section of a policy may hold, and notes where every path
// stands. Anchors and merge keys are refused as a whole: what holds for a queue
// is to be read where the queue stands, and there is nothing to blow up.
func (d *document) vet(n *yaml.Node, path string) {
	switch {
	case strings.Count(path, "/") > maxDepth:
		d.refuse(n, path, "sections are nested too deeply", "no key of a policy lies that deep")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.refuse(n, path, noAnchors, "write the value out where it is used")
	case n.Style&yaml.TaggedStyle != 0:
		d.refuse(n, path, fmt.Sprintf("the tag %s is not read", quote(n.Tag)), "leave the tag out")
	case n.Kind == yaml.MappingNode:
		d.vetMapping(n, path)
	case n.Kind == yaml.SequenceNode:
		d.vetList(n, path)
	default:
		d.vetScalar(n, path)
	}
}

// refuse notes a fault of a value that nobody is to read, so that no other
// fault repeats it.
func (d *document) refuse(n *yaml.Node, path, why, hint string) {
	d.faultAt(placeOfNode(n), why, hint)
	d.refused[n], d.bad[path] = true, true
}

// readable says that vet refused nothing of a value.
func (d *document) readable(n *yaml.Node) bool {
	return !d.refused[n] && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !d.readable(c) })
}

// vetMapping leaves only the pairs whose keys may be read.
func (d *document) vetMapping(n *yaml.Node, path string) {
	if !d.fewItems(n, path, len(n.Content)/2) {
		return
	}
	lines := map[string]int{}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if why, hint := d.badKey(key); why != "" {
			d.faultAt(placeOfNode(key), why, hint)
			d.bad[path] = true
			continue
		}
		child := join(path, key.Value)
		if line, twice := lines[key.Value]; twice {
			d.faultAt(placeOfNode(key), fmt.Sprintf("the key %q is written twice", key.Value), fmt.Sprintf("the first one stands on line %d", line))
			d.bad[child] = true
			continue
		}
		lines[key.Value] = key.Line
		d.at[child] = placeOfNode(key)
		kept = append(kept, key, value)
		d.vet(value, child)
	}
	n.Content = kept
}

func (d *document) badKey(key *yaml.Node) (why, hint string) {
	switch {
	case key.Tag == "!!merge":
		return "merge keys are not read", "write the keys out where they hold"
	case key.Kind != yaml.ScalarNode || key.Tag != "!!str" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0:
		return "a key must be plain text", "quote it if it looks like a number"
	case len(key.Value) > maxKey:
		return fmt.Sprintf("a key is longer than %d bytes", maxKey), "no key of a policy and no name is that long"
	case strings.ContainsFunc(key.Value, func(r rune) bool { return hides(r) || r == '\n' || r == '\t' }):
		return fmt.Sprintf("the key %s holds an invisible character", quote(key.Value)), "remove it"
	}
	if what := d.secretIn("", key.Value); what != "" {
		return "a key holds " + what, "put it into an environment variable, and change the secret: it was in a file"
	}
	return "", ""
}

func (d *document) vetList(n *yaml.Node, path string) {
	if !d.fewItems(n, path, len(n.Content)) {
		return
	}
	for i, item := range n.Content {
		child := join(path, strconv.Itoa(i))
		d.at[child] = placeOfNode(item)
		d.vet(item, child)
	}
}

func (d *document) fewItems(n *yaml.Node, path string, items int) bool {
	if items > maxItems {
		d.refuse(n, path, fmt.Sprintf("%s has %d items, more than %d", named(path), items, maxItems), "a person cannot oversee that many: join some of them")
	}
	return items <= maxItems
}

func (d *document) vetScalar(n *yaml.Node, path string) {
	key := last(path)
	if i := strings.IndexFunc(n.Value, hides); i >= 0 {
		for _, r := range n.Value[i:] {
			d.refuse(n, path, fmt.Sprintf("%s holds the invisible character %U", named(path), r), "remove it; an expression can spell it "+spelling(r))
			return
		}
	}
	switch {
	case strings.HasSuffix(key, "_env") && !isVariable(n.Value):
		d.refuse(n, path, fmt.Sprintf("%q must be the name of an environment variable", key), "a name such as REDIS_URL: the secret itself never stands in the file")
	case !isExpression(path):
		if what := d.secretIn(key, n.Value); what != "" {
			d.refuse(n, path, fmt.Sprintf("%q holds %s", key, what), "put it into an environment variable and name that with a key ending in _env")
		}
	}
}

// isExpression says that the value at path is a regular expression, which may
// well describe a secret that is to be hidden.
func isExpression(path string) bool {
	return strings.HasPrefix(path, "errors/") && strings.HasSuffix(path, "/match") || strings.Contains(path, "/redact/text/")
}
