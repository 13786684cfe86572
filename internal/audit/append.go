package audit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
)

// maxBatch is how many callers share one write and one flush.
const maxBatch = 256

// request is one call of Append on its way to the writing goroutine.
type request struct {
	recs []Record
	head Head
	done chan error // takes one value without blocking
}

// kept says whether space is held back for this request.
func (r *request) kept() bool {
	return !slices.ContainsFunc(r.recs, func(rec Record) bool { return !rec.kept() })
}

// Append writes records, in order and next to each other, and returns when they
// are on disk, with the Head of the last one. Callers at the same time share a
// flush. Once a request is accepted the end of ctx does not stop it: no client
// can call off the record of its own call.
//
// After an error the records may count as not written, except where the flush
// itself failed. A failed write ends this Log for all but outcomes, cancels,
// stops and records that are Kept, for which space is held back; a failed flush
// ends it for all. Lock timeouts (durable.ErrLocked) end nothing.
func (l *Log) Append(ctx context.Context, recs ...Record) (Head, error) {
	for _, r := range recs {
		if !writable(r.Phase) {
			return Head{}, fmt.Errorf("appending to the audit log: %q is not a phase that callers write", r.Phase)
		}
	}
	req := &request{recs: recs, done: make(chan error, 1)}
	l.start.Do(func() { go l.loop() })
	select {
	case l.requests <- req:
	case <-ctx.Done():
		return Head{}, fmt.Errorf("appending to the audit log: %w", context.Cause(ctx))
	case <-l.closing:
		return Head{}, ErrClosed
	}
	err := <-req.done
	return req.head, err
}

// loop is the one goroutine of a process that writes.
func (l *Log) loop() {
	defer close(l.stopped)
	for {
		select {
		case req := <-l.requests:
			l.commit(l.gather(req))
		case <-l.closing:
			return
		}
	}
}

// gather takes along everybody who is already waiting. While one batch is
// flushed the next one collects, so a slow disk makes larger batches.
func (l *Log) gather(first *request) []*request {
	batch := []*request{first}
	// Those who were just answered get a turn to come with their next request:
	// measured with 64 callers, it makes batches a third larger.
	runtime.Gosched()
	for len(batch) < maxBatch {
		select {
		case req := <-l.requests:
			batch = append(batch, req)
		default:
			return batch
		}
	}
	return batch
}

// commit writes a batch and answers its callers. When the disk is full, what
// must still be said is tried once more in the space held back for it.
func (l *Log) commit(batch []*request) {
	batch = l.admit(batch)
	if len(batch) == 0 {
		return
	}
	err := l.appendBatch(batch)
	if isFull(err) && !l.dead {
		var rest []*request
		for _, req := range batch {
			if req.kept() {
				rest = append(rest, req)
			} else {
				req.done <- err
			}
		}
		if batch = rest; len(batch) > 0 {
			err = l.FreeReserve()
		}
		if err == nil {
			err = l.appendBatch(batch)
		}
	}
	for _, req := range batch {
		req.done <- err
	}
}

// admit turns away what may not pass after a failure.
func (l *Log) admit(batch []*request) []*request {
	if l.failed == nil {
		return batch
	}
	return slices.DeleteFunc(batch, func(req *request) bool {
		if !l.dead && req.kept() {
			return false
		}
		req.done <- fmt.Errorf("%w: it failed earlier (%w); make room or mend the disk, then start again", ErrClosed, l.failed)
		return true
	})
}

// isFull tells a lack of room, which the reserve helps against, from a fault.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
