package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Kind is a kind of store: what its sections are decoded into. Both functions
// return pointers to structs with `yaml` and `doc` tags.
type Kind struct {
	NewBackend func() any // the keys of backends.NAME beside type
	NewSource  func() any // the keys of queues.NAME.source beside backend
}

// Options are what a policy is read with.
type Options struct {
	Kinds map[string]Kind
	// Env looks up an environment variable, to warn of one that is not set. nil
	// warns of none.
	Env func(string) (string, bool)
}

// Load reads a policy file and the files it names, which must lie in its folder
// or below. The error is a *Faults.
func Load(path string, o Options) (*Policy, error) {
	name := filepath.Base(path)
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, unread(path, err)
	}
	data, mode, err := readFile(os.Open, path)
	if err != nil {
		return nil, unread(path, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, unread(path, err)
	}
	defer root.Close()
	p, err := Parse(name, data, func(name string) ([]byte, error) {
		// Looked at before it is opened: opening a pipe would wait for a writer.
		name = filepath.FromSlash(name)
		if info, err := root.Stat(name); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, errors.New("it is not a regular file")
		}
		data, _, err := readFile(root.Open, name)
		return data, err
	}, o)
	if err != nil {
		return nil, err
	}
	p.Path, p.Folder, p.mode = path, folder, mode
	return p, nil
}

func unread(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return &Faults{All: []Fault{{File: path, Why: "cannot be read: " + err.Error(), Hint: "name the policy file with --policy"}}}
}

// readFile reads at most one byte more than a policy file may have.
func readFile(open func(string) (*os.File, error), name string) ([]byte, fs.FileMode, error) {
	f, err := open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, errors.New("it is a folder")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, info.Mode(), err
}

// Parse reads a policy from memory. read returns a file that the policy names,
// by its name relative to the policy with slashes. The error is a *Faults.
func Parse(name string, data []byte, read func(name string) ([]byte, error), o Options) (*Policy, error) {
	b := &builder{
		document: newDocument(name), options: o, read: read,
	}
	root := b.parse(data)
	if root != nil {
		b.into(root, reflect.ValueOf(&b.raw).Elem(), "", "")
		b.build(root)
	}
	if len(b.faults) > 0 {
		return nil, &Faults{All: sortFaults(b.faults)}
	}
	b.p.addFile(name, data)
	b.p.Digest = digest(b.p.Files)
	b.p.Path = name
	return b.p, nil
}

func (p *Policy) addFile(name string, data []byte) {
	if slices.ContainsFunc(p.Files, func(f File) bool { return f.Name == name }) {
		return
	}
	p.Files = append(p.Files, File{Name: name, Digest: hexSum(data), Data: data})
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

func digest(files []File) string {
	var list strings.Builder
	for _, f := range files {
		fmt.Fprintf(&list, "%s %s\n", f.Name, f.Digest)
	}
	return hexSum([]byte(list.String()))
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// canonical is the text of a section that does not depend on the order of its
// keys or on how it is laid out.
func canonical(n *yaml.Node, without string) string {
	var items []string
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag != "!!str" {
			return n.Value
		}
		return fmt.Sprintf("%q", n.Value)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			items = append(items, canonical(item, ""))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	for key, value := range pairs(n) {
		if key.Value != without {
			items = append(items, fmt.Sprintf("%q:%s", key.Value, canonical(value, "")))
		}
	}
	slices.Sort(items)
	return "{" + strings.Join(items, ",") + "}"
}
