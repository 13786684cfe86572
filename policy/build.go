package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// builder makes a Policy of the decoded file. It goes on after a fault, so that
// all are named at once, and reports a key as missing only where it was not
// written, so that one mistake is one fault.
type builder struct {
	*document
	options Options
	read    func(string) ([]byte, error)
	schemas map[string]*BodySchema // by file, those that were read
	raw     file
	p       *Policy
}

func (b *builder) build(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		return
	}
	b.p = &Policy{
		doc: b.document, Groups: map[string][]string{}, Backends: map[string]*Backend{},
		People: map[string]*Person{}, Queues: map[string]*Queue{},
	}
	b.head()
	b.people()
	b.errors()
	b.defaults()
	for _, name := range sorted(b.raw.Backends) {
		b.backend(name, b.raw.Backends[name])
	}
	for _, name := range sorted(b.raw.Queues) {
		b.queue(name, b.raw.Queues[name])
	}
	b.twins()
	for i := range b.raw.Freeze {
		b.freeze(i, b.raw.Freeze[i])
	}
	b.environment(root, "")
}

func (b *builder) head() {
	if v := b.raw.Version; v != 1 && b.given("version") {
		b.fault("version", fmt.Sprintf("version %d is not known to this build", v), "this build reads version 1")
	}
	switch {
	case !b.given("state"):
	case !filepath.IsAbs(b.raw.State):
		b.fault("state", "the state folder must be an absolute path", "relative paths and ~ would depend on who starts the program")
	case strings.ContainsAny(b.raw.State, "\n\t"):
		b.fault("state", "the state folder has a line end or a tab in its name", "write the path on one line")
	}
	b.p.State = filepath.Clean(b.raw.State)
}

func (b *builder) errors() {
	for i := range b.raw.Errors {
		e, path := b.raw.Errors[i], fmt.Sprintf("errors/%d", i)
		b.givenName(path+"/code", "the code", e.Code)
		if e.Match != nil {
			b.p.Errors = append(b.p.Errors, e)
		}
	}
}

func (b *builder) defaults() {
	d := b.raw.Defaults
	d.Separation = or(d.Separation, "agent")
	d.DirectTTL = or(d.DirectTTL, 15*time.Minute)
	d.Attempts = or(d.Attempts, "reset")
	d.Snapshots.Keep = or(d.Snapshots.Keep, 30*24*time.Hour)
	d.Audit.Level = or(d.Audit.Level, "metadata")
	b.p.Defaults = d
}

func (b *builder) backend(name string, n *yaml.Node) {
	path := "backends/" + name
	b.name(path, "the backend", name)
	if n == nil || !b.shaped(n, path, yaml.MappingNode, "a section with keys") {
		return
	}
	kind, ok := b.word(n, path, "type")
	if !ok {
		return
	}
	k, known := b.options.Kinds[kind]
	if !known {
		b.fault(path+"/type", fmt.Sprintf("there is no kind of store %s", quote(kind)), b.suggest(kind, sorted(b.options.Kinds)))
		return
	}
	b.p.Backends[name] = &Backend{Name: name, Kind: kind, policy: b.p,
		Config: b.section(n, path, "type", k.NewBackend)}
}

// word is the text of a key that a section needs before it can be read.
func (b *builder) word(n *yaml.Node, path, key string) (string, bool) {
	for k, value := range pairs(n) {
		if k.Value == key {
			return value.Value, !b.refused[value] && b.tagged(value, join(path, key), "text", "!!str")
		}
	}
	b.require(path, key)
	return "", false
}

// section decodes a store's section, all but the key that was read to choose
// the store.
func (b *builder) section(n *yaml.Node, path, without string, empty func() any) any {
	rest := *n
	rest.Content = nil
	for key, value := range pairs(n) {
		if key.Value != without {
			rest.Content = append(rest.Content, key, value)
		}
	}
	config := empty()
	b.into(&rest, reflect.ValueOf(config).Elem(), path, "")
	return config
}

// twins refuses two queues that lead to the same letters: each would have its
// own rules and limits for them.
func (b *builder) twins() {
	seen := map[string]string{}
	for _, name := range sorted(b.p.Queues) {
		q := b.p.Queues[name]
		if first, ok := seen[q.SourceKey]; ok && q.SourceKey != "" {
			b.fault("queues/"+name+"/source", fmt.Sprintf("%q and %q are the same letters", name, first), "keep one of them: two sets of rules for one message contradict each other")
			continue
		}
		seen[q.SourceKey] = name
	}
}

// environment warns of variables that the file names and that are not set.
func (b *builder) environment(n *yaml.Node, path string) {
	if b.options.Env == nil {
		return
	}
	for key, value := range pairs(n) {
		child := join(path, key.Value)
		if value.Kind == yaml.MappingNode {
			b.environment(value, child)
		}
		if !strings.HasSuffix(key.Value, "_env") || value.Kind != yaml.ScalarNode {
			continue
		}
		if _, ok := b.options.Env(value.Value); !ok {
			b.p.Warnings = append(b.p.Warnings, b.p.faultAt(child, fmt.Sprintf("the environment variable %s is not set", value.Value), "set it where the program runs"))
		}
	}
}

func (b *builder) missing(path string) bool { return !b.has(path) }

// given says that a key was written, and read without a fault.
func (b *builder) given(path string) bool { return b.has(path) && !b.bad[path] }

func (b *builder) name(path, what, name string) {
	if !isName(name) {
		b.fault(path, fmt.Sprintf("%s cannot be called %s", what, quote(name)), nameHint)
	}
}

// givenName looks at a name that is the value of a key, if there is one.
func (b *builder) givenName(path, what, name string) {
	if b.given(path) {
		b.name(path, what, name)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
