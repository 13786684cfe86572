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

// process is this program as a process of its own, in the demo's folder.
func (s *story) process(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Self, args...)
	cmd.Dir = string(s.dir)
	// Nothing of the surroundings may lead the child to another policy.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "REDRIVE_POLICY=")
	}), "NO_COLOR=1")
	return cmd
}

// run waits for the end of a process and gives what it printed. Another exit
// code than the one that is wanted is an error that quotes what it said.
func (s *story) run(ctx context.Context, want int, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := s.process(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return "", fmt.Errorf("running %s: %w", args[0], err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		return "", fmt.Errorf("%q ended with exit code %d, not %d: %s", strings.Join(args, " "), got, want, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

// runWorker lets the application's worker run until nothing is queued.
func (s *story) runWorker(ctx context.Context, flags ...string) error {
	_, err := s.run(ctx, 0, append([]string{"demo", "worker", "--db", "jobs.db", "--until-idle"}, flags...)...)
	return err
}
