package rawjson

import (
	"errors"
	"fmt"
)

// maxCopied bounds what the copy operations of one patch may bring in: each
// can double a document, and a hundred of them would fill any memory.
const maxCopied = 1 << 20

var (
	// ErrTestFailed means that a test operation found another value.
	ErrTestFailed = errors.New("the value is not the expected one")

	errMoveInside = errors.New("a value cannot be moved into itself")
	errCopyBomb   = fmt.Errorf("the copies of one patch exceed %d bytes", maxCopied)
)

// Apply applies the operations in order, all or none. An error names the
// operation's number, op and path and wraps [ErrNoPath], [ErrTestFailed] or a
// [*SyntaxError]; it holds no text of doc.
func (p Patch) Apply(doc []byte) ([]byte, error) {
	t, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	a := applier{tree: t}
	for i, op := range p.operations {
		if err := a.apply(op); err != nil {
			return nil, fmt.Errorf("patch operation %d (%s %q): %w", i, op.Op, op.Path.String(), err)
		}
	}
	return a.tree.doc, nil
}

type applier struct {
	tree   *tree
	copied int
}

func (a *applier) apply(op Operation) error {
	switch op.Op {
	case "add":
		return a.change(a.tree.add(op.Path, op.Value))
	case "replace":
		return a.change(a.tree.replace(op.Path, op.Value))
	case "remove":
		return a.change(a.tree.remove(op.Path))
	case "copy":
		return a.copy(op)
	case "move":
		return a.move(op)
	}
	return a.test(op)
}

// change makes an edit and indexes the result, which also refuses one that has
// become too deep.
func (a *applier) change(e edit, err error) error {
	if err != nil {
		return err
	}
	t, err := parse(splice(a.tree.doc, e))
	if err != nil {
		return err
	}
	a.tree = t
	return nil
}

func (a *applier) copy(op Operation) error {
	n, ok := a.tree.find(op.From)
	if !ok {
		return fmt.Errorf("from %q: %w", op.From.String(), ErrNoPath)
	}
	value := a.tree.raw(n)
	if a.copied += len(value); a.copied > maxCopied {
		return errCopyBomb
	}
	return a.change(a.tree.add(op.Path, value))
}

func (a *applier) move(op Operation) error {
	n, ok := a.tree.find(op.From)
	if !ok {
		return fmt.Errorf("from %q: %w", op.From.String(), ErrNoPath)
	}
	if op.Path.Equal(op.From) {
		return nil
	}
	if op.Path.HasPrefix(op.From) {
		return errMoveInside
	}
	value := a.tree.raw(n)
	if err := a.change(a.tree.remove(op.From)); err != nil {
		return err
	}
	return a.change(a.tree.add(op.Path, value))
}

func (a *applier) test(op Operation) error {
	n, ok := a.tree.find(op.Path)
	if !ok {
		return ErrNoPath
	}
	want, err := parse(op.Value)
	if err != nil {
		return err
	}
	if !a.tree.equal(n, want, 0) {
		return ErrTestFailed
	}
	return nil
}
