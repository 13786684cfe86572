// Package rules holds no code, only tests: it reads the module's source and
// fails where a house rule is broken.
//
// Guarantee: a rule that stands here is kept in every file of the tree, and
// every rule is shown to fail on a small source that breaks it.
//
// Limit: the rules look at syntax, not at types. A method with the same name on
// another type is taken for the one that is meant, and a call through a
// variable is not seen.
package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

const module = "github.com/redrive-mcp/redrive-mcp"

// source is one text file of the tree; syntax is nil if it is not Go.
type source struct {
	path   string // with slashes, from the module's root
	text   []byte
	syntax *ast.File
	set    *token.FileSet
}

func (s *source) dir() string  { return strings.TrimPrefix(path.Dir(s.path), ".") }
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) lines() int   { return bytes.Count(s.text, []byte("\n")) }

func (s *source) line(at token.Pos) int { return s.set.Position(at).Line }

// fault is one place where a rule is broken.
func (s *source) fault(at token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.line(at), fmt.Sprintf(format, args...))
}

// in reports whether the file is in one of the folders or below.
func (s *source) in(folders ...string) bool {
	for _, folder := range folders {
		if s.dir() == folder || strings.HasPrefix(s.dir(), folder+"/") {
			return true
		}
	}
	return false
}

// load reads every text file below the root of the tree, but not what version
// control and running tests keep there.
func load(tree fs.FS) ([]*source, error) {
	var all []*source
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "testdata/.services"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		s, err := read(tree, name)
		if s != nil {
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// read returns nil for a file that is not text.
func read(tree fs.FS, name string) (*source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return nil, err
	}
	s := &source{path: name, text: text, set: token.NewFileSet()}
	if path.Ext(name) == ".go" {
		s.syntax, err = parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	}
	return s, err
}

// golang keeps the Go files.
func golang(all []*source) []*source {
	var kept []*source
	for _, s := range all {
		if s.syntax != nil {
			kept = append(kept, s)
		}
	}
	return kept
}
