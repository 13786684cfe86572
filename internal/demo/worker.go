package demo

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// poll is how often a worker that stays looks for new jobs.
const poll = 200 * time.Millisecond

// Worker is the application's worker, a process of its own. It takes queued
// jobs from the table one by one until ctx ends, or with --until-idle until
// there is none.
func Worker(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("demo worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("db", "", "the database")
	down := flags.Bool("provider-down", false, "the payment provider does not answer")
	idle := flags.Bool("until-idle", false, "end when no job is queued")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("demo worker: %w", err)
	}
	if _, err := os.Stat(*file); err != nil || flags.NArg() > 0 {
		return fmt.Errorf("demo worker: want --db FILE [--until-idle] [--provider-down] (%v)", err)
	}
	t, err := openTable(*file)
	if err != nil {
		return err
	}
	w := worker{table: t, name: fmt.Sprintf("worker-%d", os.Getpid()), provider: provider{*down}}
	return firstOf(w.loop(ctx, *idle), t.close())
}

type worker struct {
	*table
	provider
	name string
}

func (w worker) loop(ctx context.Context, untilIdle bool) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		// A job that was taken is finished, whatever is asked meanwhile.
		switch found, err := w.next(context.WithoutCancel(ctx)); {
		case err != nil:
			return err
		case found && ctx.Err() == nil:
			continue
		case untilIdle:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// next takes one job and runs it. It reports whether there was one.
func (w worker) next(ctx context.Context) (bool, error) {
	var id int64
	var kind, payload string
	err := w.db.QueryRowContext(ctx, `UPDATE jobs SET status = 'running', attempts = attempts + 1, locked_by = ?
		WHERE id = (SELECT id FROM jobs WHERE status = 'queued' ORDER BY run_at, id LIMIT 1)
		RETURNING id, kind, payload`, w.name).Scan(&id, &kind, &payload)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("taking a job: %w", err)
	}
	return true, w.finish(ctx, id, payload, w.run(id, kind, payload))
}

// finish notes the attempt and what becomes of the job, both or neither.
func (w worker) finish(ctx context.Context, id int64, payload string, failure error) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("finishing job %d: %w", id, err)
	}
	result, change := "completed", `UPDATE jobs SET status = 'completed', last_error = NULL WHERE id = ?2 AND ?1 <> ''`
	if failure != nil {
		result, change = failure.Error(), `UPDATE jobs SET last_error = ?1, run_at = strftime('%Y-%m-%dT%H:%M:%fZ'),
			status    = CASE WHEN attempts < max_attempts THEN 'queued' ELSE 'dead' END,
			failed_at = CASE WHEN attempts < max_attempts THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ') END
			WHERE id = ?2`
	}
	_, noted := tx.ExecContext(ctx, `INSERT INTO runs (job_id, payload, result) VALUES (?, ?, ?)`, id, payload, result)
	_, changed := tx.ExecContext(ctx, change, result, id)
	if err := errors.Join(noted, changed); err != nil {
		return fmt.Errorf("finishing job %d: %w", id, errors.Join(err, tx.Rollback()))
	}
	return tx.Commit()
}
