package rawjson

import "fmt"

// Mask replaces every value at a place that a pattern names by with, a JSON
// value such as "[redacted]", and returns what was hidden as readers see it:
// each string decoded and each number as written, once, in document order;
// for a container those of all values in it. Empty strings, true, false and
// null are hidden but not returned: they say nothing and occur everywhere.
//
// An error means that nothing can be said about what doc contains, and the
// whole of it must be withheld.
func Mask(doc []byte, pats []Pattern, with []byte) (masked []byte, hidden [][]byte, err error) {
	t, err := parse(doc)
	if err != nil {
		return nil, nil, err
	}
	var edits []edit
	seen := map[string]bool{"": true}
	for n, p := range t.matches(pats) {
		value, err := fit(with, p.len())
		if err != nil {
			return nil, nil, fmt.Errorf("mask: %w", err)
		}
		edits = append(edits, t.over(n, value))
		for _, text := range t.texts(n) {
			if !seen[text] {
				seen[text] = true
				hidden = append(hidden, []byte(text))
			}
		}
	}
	return splice(doc, edits...), hidden, nil
}

// texts are the strings and numbers in n, decoded.
func (t *tree) texts(n int) []string {
	var list []string
	for c := n; c < int(t.nodes[n].next); c++ { // descendants follow their root
		if k := t.kind(c); k == '"' || k == '0' {
			list = append(list, Text(t.raw(c)))
		}
	}
	return list
}
