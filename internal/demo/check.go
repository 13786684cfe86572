package demo

import (
	"context"
	"fmt"
	"strings"
)

// row is a job as the table has it.
type row struct {
	id              int64
	queue, kind     string
	payload, status string
	attempts        int
	failure         string
}

// rows are all jobs, oldest first.
func (t *table) rows(ctx context.Context) ([]row, error) {
	found, err := t.db.QueryContext(ctx, `SELECT id, queue, kind, payload, status, attempts, coalesce(last_error, '') FROM jobs ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("reading the jobs: %w", err)
	}
	defer found.Close()
	var all []row
	for found.Next() {
		var r row
		if err := found.Scan(&r.id, &r.queue, &r.kind, &r.payload, &r.status, &r.attempts, &r.failure); err != nil {
			return nil, fmt.Errorf("reading a job: %w", err)
		}
		all = append(all, r)
	}
	return all, found.Err()
}

// attempt is what the worker noted of one.
type attempt struct{ payload, result string }

// attemptsAfter are the attempts that began after a run, by job; last is the
// newest run.
func (t *table) attemptsAfter(ctx context.Context, run int64) (made map[int64][]attempt, last int64, err error) {
	found, err := t.db.QueryContext(ctx, `SELECT run, job_id, payload, result FROM runs WHERE run > ? ORDER BY run`, run)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the attempts: %w", err)
	}
	defer found.Close()
	made, last = map[int64][]attempt{}, run
	for found.Next() {
		var id int64
		var a attempt
		if err := found.Scan(&last, &id, &a.payload, &a.result); err != nil {
			return nil, 0, fmt.Errorf("reading an attempt: %w", err)
		}
		made[id] = append(made[id], a)
	}
	return made, last, found.Err()
}

// checkDead: every job failed as often as it may and is dead now.
func checkDead(rows []row, made map[int64][]attempt) error {
	for _, r := range rows {
		if r.status != "dead" || r.attempts != maxAttempts || len(made[r.id]) != maxAttempts {
			return fmt.Errorf("job %d should be dead after %d attempts, but is %s after %d (%d noted)", r.id, maxAttempts, r.status, r.attempts, len(made[r.id]))
		}
	}
	return nil
}

// checkRedriven compares the table before and after: what was redriven ran once
// more, with the payload that was agreed on, and completed. Everything else was
// left as it was.
func checkRedriven(before, after []row, made map[int64][]attempt) error {
	if len(before) != len(after) {
		return fmt.Errorf("%d jobs became %d", len(before), len(after))
	}
	for i, was := range before {
		is, runs := after[i], made[was.id]
		if was.kind == "transcode" {
			if is != was || len(runs) > 0 {
				return fmt.Errorf("job %d should be as dead as before: %+v, %d runs", was.id, is, len(runs))
			}
			continue
		}
		want := strings.Replace(was.payload, `"currency": "EU"`, `"currency": "EUR"`, 1)
		switch {
		case is.status != "completed" || is.payload != want:
			return fmt.Errorf("job %d is %s with %q, not completed with %q", was.id, is.status, is.payload, want)
		case len(runs) != 1:
			return fmt.Errorf("job %d ran %d times after it was redriven", was.id, len(runs))
		case runs[0] != (attempt{want, "completed"}):
			return fmt.Errorf("job %d got %q and ended as %q, not %q and completed", was.id, runs[0].payload, runs[0].result, want)
		}
	}
	return nil
}
