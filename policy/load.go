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
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, unread(path, err)
	}
	defer root.Close()
	var loose []Fault
	read := func(stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error), file string) ([]byte, error) {
		data, info, err := readFile(stat, open, file)
		if err == nil {
			loose = append(loose, looseness(path, file, info)...)
		}
		return data, err
	}
	data, err := read(os.Stat, os.Open, path)
	if err != nil {
		return nil, unread(path, err)
	}
	p, err := Parse(name, data, func(file string) ([]byte, error) {
		return read(root.Stat, root.Open, filepath.FromSlash(file))
	}, o)
	if faults, ok := errors.AsType[*Faults](err); ok {
		rename(faults.All, path)
	}
	if err != nil {
		return nil, err
	}
	rename(p.Warnings, path)
	p.doc.file = path
	if info, err := root.Stat("."); err == nil {
		loose = append(loose, looseness(path, "its folder", info)...)
	}
	p.Path, p.Folder, p.loose = path, folder, loose
	return p, nil
}

// rename gives faults the path that the file was asked for by, which leads there
// from where the reader stands.
func rename(faults []Fault, path string) {
	for i := range faults {
		faults[i].File = path
	}
}

func unread(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return &Faults{All: []Fault{{File: path, Why: "cannot be read: " + err.Error(), Hint: "name the policy file with --policy"}}}
}

// readFile reads at most one byte more than a policy file may have. It looks
// before it opens, since opening a pipe would wait for a writer, and again at
// what it opened.
func readFile(stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error), name string) ([]byte, fs.FileInfo, error) {
	if info, err := stat(name); err != nil {
		return nil, nil, err
	} else if err := regular(info); err != nil {
		return nil, nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, info, err
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	return nil
}

// Parse reads a policy from memory. read returns a file that the policy names,
// by its name relative to the policy with slashes; nil: there are none. The error
// is a *Faults.
func Parse(name string, data []byte, read func(name string) ([]byte, error), o Options) (*Policy, error) {
	if read == nil {
		read = func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	}
	b := &builder{
		document: newDocument(name), options: o, read: read, schemas: map[string]*BodySchema{},
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
	p.Files = append(p.Files, File{Name: name, Digest: hexSum(data), Data: data})
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.line(), b.line()) })
}

// line is what stands for a file in what the digest is over.
func (f File) line() string { return f.Name + " " + f.Digest + "\n" }

func digest(files []File) string {
	var list strings.Builder
	for _, f := range files {
		list.WriteString(f.line())
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
