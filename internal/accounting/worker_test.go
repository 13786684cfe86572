package accounting

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// work runs what is queued until ctx ends. The database may go away meanwhile;
// a job whose transaction is cut off was not run.
func (j *jobs) work(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := j.workOnce()
		if err != nil || n == 0 {
			pause(ctx, 20*time.Millisecond)
		}
	}
}

// drain works until nothing is queued.
func (j *jobs) drain() error {
	for {
		if n, err := j.workOnce(); err != nil || n == 0 {
			return err
		}
	}
}

type queued struct {
	id       int64
	payload  string
	attempts int
	most     int
}

func (j *jobs) workOnce() (n int, err error) {
	tx, err := j.db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // without effect after Commit
	batch, err := j.take(tx)
	if err != nil {
		return 0, err
	}
	for _, job := range batch {
		if err := j.run(tx, job); err != nil {
			return 0, err
		}
	}
	return len(batch), tx.Commit()
}

func (j *jobs) take(tx *sql.Tx) (out []queued, err error) {
	rows, err := tx.Query(j.fill(`SELECT id, payload{text}, attempts, max_attempts FROM {S}jobs WHERE status = 'queued' ORDER BY id LIMIT 16 {lock}`))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var job queued
		if err := rows.Scan(&job.id, &job.payload, &job.attempts, &job.most); err != nil {
			return nil, err
		}
		out = append(out, job)
	}
	return out, rows.Err()
}

// run is one attempt. A life begins with attempt 1: a redrive resets the count.
func (j *jobs) run(tx *sql.Tx, job queued) error {
	var w work
	if err := json.Unmarshal([]byte(job.payload), &w); err != nil {
		return err
	}
	job.attempts++
	if _, err := tx.Exec(j.fill(`INSERT INTO {S}effects (job, attempt, payload) VALUES (?, ?, ?)`), job.id, job.attempts, job.payload); err != nil {
		return err
	}
	var life int
	if err := tx.QueryRow(j.fill(`SELECT count(*) FROM {S}effects WHERE job = ? AND attempt = 1`), job.id).Scan(&life); err != nil {
		return err
	}
	failure := w.failure(life)
	change := `UPDATE {S}jobs SET status = 'done', attempts = ?, error = nullif(?, ''), tried_at = {now} WHERE id = ?`
	switch {
	case failure != "" && job.attempts < job.most:
		change = `UPDATE {S}jobs SET attempts = ?, error = ?, tried_at = {now} WHERE id = ?`
	case failure != "":
		change = `UPDATE {S}jobs SET status = 'failed', attempts = ?, error = ?, tried_at = {now}, failed_at = {now} WHERE id = ?`
	}
	_, err := tx.Exec(j.fill(change), job.attempts, failure, job.id)
	return err
}

// rival is somebody who queues or touches a dead job by hand, without asking the
// program; a send of theirs is noted with its job.
func (j *jobs) rival(id int64, send bool) error {
	if !send {
		return j.exec(`UPDATE {S}jobs SET note = coalesce(note, '') || '.' WHERE id = ? AND status = 'failed'`, id)
	}
	tx, err := j.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.Exec(j.fill(`UPDATE {S}jobs SET status = 'queued', attempts = 0, failed_at = NULL WHERE id = ? AND status = 'failed'`), id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errors.New("it is not dead"))
	}
	if _, err := tx.Exec(j.fill(`INSERT INTO {S}rivals (job) VALUES (?)`), id); err != nil {
		return err
	}
	return tx.Commit()
}

// pause lets a random time pass, or ctx end.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
