package audit

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

const (
	refusedWindow = time.Second
	refusedKinds  = 64
)

// kind is what makes two records the same. Arguments are not part of it: they
// are what a client that floods can vary for nothing.
type kind struct{ tool, queue, outcome, err, actor, session string }

// tally counts the refusals of one kind within a window.
type tally struct {
	rec   Record
	first func() error // writes the first one, once, and says how that went
	count int          // after the first
}

// tallies are the kinds of the window that is open now.
type tallies struct {
	mu    sync.Mutex
	open  map[kind]*tally
	timer *time.Timer
}

// Refused appends the record of a call that was refused, or of a message that does
// nothing. The first of its kind (tool, queue, outcome, error, actor and session)
// is on disk when it returns; the same again within a second is only counted, and
// the count is written as one record with the argument "count" by the end of that
// second, or by Close. At most 64 kinds a second are told apart; more are counted
// together, so that no caller fills the disk with them.
func (l *Log) Refused(ctx context.Context, rec Record) error {
	t := l.tally(ctx, rec)
	err := t.first()
	if err != nil {
		l.forget(t)
	}
	return err
}

// tally counts a record in the open tally of its kind, or opens one.
func (l *Log) tally(ctx context.Context, rec Record) *tally {
	l.refused.mu.Lock()
	defer l.refused.mu.Unlock()
	k := kind{rec.Tool, rec.Queue, rec.Outcome, rec.Err, rec.Actor, rec.Session}
	t := l.refused.open[k]
	if t == nil && len(l.refused.open) >= refusedKinds {
		rec = Record{Op: rec.Op, Phase: rec.Phase, Effect: rec.Effect, Err: "many kinds of refusals at once"}
		k = kind{err: rec.Err}
		t = l.refused.open[k]
	}
	if t != nil {
		t.count++
		return t
	}
	// Whoever is refused must not be able to call the record off.
	ctx = context.WithoutCancel(ctx)
	t = &tally{rec: rec, first: sync.OnceValue(func() error {
		_, err := l.Append(ctx, rec)
		return err
	})}
	l.keep(k, t)
	return t
}

// keep opens a tally, under the mutex, and sees that it is flushed in time.
func (l *Log) keep(k kind, t *tally) {
	if l.refused.open == nil {
		l.refused.open = make(map[kind]*tally)
		// The error of this flush reaches nobody. Its counts stay open, and the
		// next call of the log meets the same failure.
		l.refused.timer = time.AfterFunc(refusedWindow, func() { _ = l.flushRefused() })
	}
	l.refused.open[k] = t
}

// forget drops a tally whose first record could not be written: all who were
// counted in it get that error.
func (l *Log) forget(t *tally) {
	l.refused.mu.Lock()
	defer l.refused.mu.Unlock()
	maps.DeleteFunc(l.refused.open, func(_ kind, open *tally) bool { return open == t })
}

// flushRefused ends the window: it writes the counts and forgets the kinds.
func (l *Log) flushRefused() error {
	l.refused.mu.Lock()
	open := l.refused.open
	l.refused.open = nil
	if l.refused.timer != nil {
		l.refused.timer.Stop()
	}
	l.refused.mu.Unlock()
	var errs []error
	for k, t := range open {
		if t.count == 0 {
			continue
		}
		rec := t.rec
		rec.Args = append(rec.Args[:len(rec.Args):len(rec.Args)], Arg{"count", t.count})
		if _, err := l.Append(context.Background(), rec); err != nil {
			errs = append(errs, err)
			l.takeBack(k, t)
		}
	}
	return errors.Join(errs...)
}

// takeBack keeps a count that could not be written for the next flush.
func (l *Log) takeBack(k kind, t *tally) {
	l.refused.mu.Lock()
	defer l.refused.mu.Unlock()
	if newer := l.refused.open[k]; newer != nil {
		newer.count += t.count
		return
	}
	select {
	case <-l.closing:
	default:
		l.keep(k, t)
	}
}
