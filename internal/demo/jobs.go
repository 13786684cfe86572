package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// fail lets the evening go wrong.
func (s *story) fail(ctx context.Context) (err error) {
	if s.before, err = s.die(ctx, evening(throttled+timeouts, misspelt, truncated)); err != nil {
		return err
	}
	s.chapter("1. The payment provider is down: %d jobs of %s die, after %d attempts each", len(s.before), s.dir.path("jobs.db"), maxAttempts)
	for _, kind := range []struct {
		job, part string
		count     int
	}{
		{"charge", "HTTP 429", throttled},
		{"charge", "TimeoutError", timeouts},
		{"charge", "unknown currency", misspelt},
		{"transcode", "moov atom", truncated},
	} {
		example, count := "", 0
		for _, r := range s.before {
			if r.kind == kind.job && strings.Contains(r.failure, kind.part) {
				example = r.failure
				count++
			}
		}
		if count != kind.count {
			return fmt.Errorf("%d jobs should have failed with %q, and %d did", kind.count, kind.part, count)
		}
		name, _, _ := strings.Cut(example, ", card")
		s.quote(fmt.Sprintf("%2d  %-9s  %s", count, kind.job, name))
	}
	return nil
}

// die queues jobs, runs the worker while the provider is down, and gives the
// rows of all dead jobs.
func (s *story) die(ctx context.Context, jobs []job) ([]row, error) {
	if err := s.jobs.enqueue(ctx, jobs); err != nil {
		return nil, err
	}
	if err := s.runWorker(ctx, "--provider-down"); err != nil {
		return nil, err
	}
	made, last, err := s.jobs.attemptsAfter(ctx, s.lastRun)
	if err != nil {
		return nil, err
	}
	rows, err := s.jobs.rows(ctx)
	if err != nil {
		return nil, err
	}
	s.lastRun = last
	return rows, checkDead(rows[len(rows)-len(jobs):], made)
}

// work lets the worker do what was redriven and looks at every job.
func (s *story) work(ctx context.Context) error {
	if err := s.runWorker(ctx); err != nil {
		return err
	}
	made, last, err := s.jobs.attemptsAfter(ctx, s.lastRun)
	if err != nil {
		return err
	}
	after, err := s.jobs.rows(ctx)
	if err != nil {
		return err
	}
	if err := checkRedriven(s.before, after, made); err != nil {
		return err
	}
	s.lastRun = last
	id, err := strconv.ParseInt(s.hostile, 10, 64)
	if err != nil || len(made[id]) == 0 {
		return fmt.Errorf("job %q was patched and did not run", s.hostile)
	}
	s.chapter("4. The worker runs again: %d charges completed, each exactly once; %d videos were left alone", len(made), len(after)-len(made))
	s.say("   It got every byte as it was, but for the currency of the patched ones:")
	s.quote(made[id][0].payload)
	return nil
}
