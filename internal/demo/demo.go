// Package demo shows the program at work on a throw-away job table.
package demo

import (
	"context"
	"errors"
	"io"
)

// Options say where the demo runs and what it writes to.
type Options struct {
	Self  string
	Keep  string
	Out   io.Writer
	Color bool
}

// Run tells the story.
func Run(ctx context.Context, o Options) error { return errors.New("demo: unfinished") }

// Worker is the consumer process.
func Worker(ctx context.Context, args []string) error { return errors.New("demo worker: unfinished") }
