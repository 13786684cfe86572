package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// ran is what one process came to.
type ran struct {
	code int
	out  string
	pid  int
}

// run starts this program as a process of its own and waits for its end. An
// exit code other than those wanted is an error that quotes what it said.
func (s *story) run(ctx context.Context, wanted []int, args ...string) (ran, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, s.Self, args...)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return ran{}, fmt.Errorf("running %s: %w", args[0], err)
	}
	r := ran{cmd.ProcessState.ExitCode(), out.String(), cmd.ProcessState.Pid()}
	if !slices.Contains(wanted, r.code) {
		return r, fmt.Errorf("%s ended with exit code %d: %s", strings.Join(args, " "), r.code, strings.TrimSpace(said.String()))
	}
	return r, nil
}

// done runs a command on the story's policy and gives what it printed.
func (s *story) done(ctx context.Context, args ...string) (string, error) {
	r, err := s.run(ctx, []int{0}, append(args, "--policy", s.policy)...)
	return r.out, err
}

// environment is this process's own, without what would lead a child to
// another policy.
func environment() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "REDRIVE_POLICY=")
	}), "NO_COLOR=1")
}

// worker runs the application's worker until nothing is queued.
func (s *story) worker(ctx context.Context, flags ...string) (pid int, err error) {
	r, err := s.run(ctx, []int{0}, append([]string{"demo", "worker", "--db", s.dir.path("jobs.db"), "--until-idle"}, flags...)...)
	return r.pid, err
}
