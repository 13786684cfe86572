// Package demo tells the program's story on a throw-away job table: jobs that
// a worker really fails, an agent on a real pipe, a person at the real command
// line, and the audit log at the end.
//
// Guarantee: it uses the program as anybody would, through processes and a pipe,
// and every line it prints was looked up or checked before it was printed. What
// differs from the story ends it with an error.
//
// Limit: the payment provider is pretended. Whether it answers is a flag of the
// worker, and no network is used.
package demo

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Options say where the story happens and who listens.
type Options struct {
	Self  string    // path of this program's executable
	Keep  string    // folder to leave behind; "" means a temporary one, removed at the end
	Out   io.Writer // the story
	Color bool      // headings in bold
}

// most is far more than the story takes. It only ends what hangs.
const most = 2 * time.Minute

// story is one telling.
type story struct {
	Options
	dir     folder
	jobs    *table
	person  string // who runs the demo
	policy  string // path of the policy file
	before  []row  // the jobs when all were dead
	lastRun int64  // the newest attempt of the worker that was looked at
	hostile string // the job whose payload the agent looked at
	request string // what waits for a person
	told    bool   // whether a chapter was begun
	said    error  // the first error of writing to Out
}

// Run tells the story. Its error says which part of it did not come true.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	s := &story{Options: o}
	if s.dir, err = openFolder(o.Keep); err != nil {
		return err
	}
	defer func() {
		if o.Keep == "" {
			err = firstOf(err, s.dir.remove())
		}
	}()
	return s.tell(ctx)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *story) tell(ctx context.Context) (err error) {
	name, named := userName()
	s.person = name
	if s.policy, err = s.dir.writePolicy(name, named); err != nil {
		return err
	}
	if s.jobs, err = createTable(ctx, s.dir.path("jobs.db")); err != nil {
		return err
	}
	defer func() { err = firstOf(err, s.jobs.close()) }()
	for _, part := range []struct {
		name string
		tell func(context.Context) error
	}{
		{"the failing jobs", s.fail},
		{"the agent", s.agent},
		{"the person", s.approve},
		{"the second run of the worker", s.work},
		{"the audit log", s.audit},
		{"the end", s.end},
	} {
		if err := firstOf(part.tell(ctx), s.said); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}
