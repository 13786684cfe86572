package sqljobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// foldRows is how many rows of a fold come with one statement: each statement has
// a time limit, the whole has none.
const foldRows = 2000

// fold yields every dead letter of a queue once, as the table lies, from one
// snapshot, and of each what tells groups apart.
func (s *Store) fold(ctx context.Context, m *mapping, asOf time.Time, yield func(*backends.DeadLetter, error) bool) error {
	return s.within(ctx, look, m, func(t tx) error {
		f := newFolder(m)
		if _, err := t.exec(ctx, f.declare()); err != nil {
			return err
		}
		for more := true; more; {
			rows := 0
			err := t.query(ctx, f.fetch(), func(row []value) error {
				rows++
				l := f.letter(row)
				if (asOf.IsZero() || !l.Times.Dead.After(asOf)) && !yield(l, nil) {
					more = false
					return errEnough
				}
				return nil
			})
			if err != nil {
				return err
			}
			more = more && rows == foldRows
		}
		return nil
	})
}

// folder makes letters of rows that have few columns: the id's, then facts.
type folder struct {
	m       *mapping
	facts   [facts]int // where each stands in a row, -1 for a column that is not mapped
	columns []column
	wire    []bool                   // which columns come as bytes
	jobs    map[string]backends.Text // by name, of which there are few
	l       backends.DeadLetter
}

const (
	factError = iota
	factJob
	factAttempts
	factEnqueued
	factDead
	facts
)

func newFolder(m *mapping) *folder {
	f := &folder{m: m, jobs: map[string]backends.Text{}}
	for _, at := range m.id {
		f.add(m.cat.columns[at])
	}
	j := m.jobs
	for i, name := range [facts]string{j.Error.Column, j.Job.Column, j.Attempts, j.EnqueuedAt.Column, j.DeadAt.Column} {
		f.facts[i] = -1
		if c, ok := m.cat.column(name); ok {
			f.facts[i] = len(f.columns)
			f.add(c)
		}
	}
	return f
}

// add takes a column, a time as bytes: to print one costs the server more than
// most of a row.
func (f *folder) add(c column) {
	f.columns = append(f.columns, c)
	f.wire = append(f.wire, c.blob || len(f.columns) > len(f.m.id) && isTimestamp(c.typ))
}

func (f *folder) declare() *stmt {
	exprs := make([]string, len(f.columns))
	for i, c := range f.columns {
		exprs[i] = f.m.d.read(c, f.m.pickOf(c))
	}
	return f.m.where(f.m.d.stmt("DECLARE letters NO SCROLL CURSOR FOR SELECT ").add(strings.Join(exprs, ", "), " FROM ", f.m.table()))
}

func (f *folder) fetch() *stmt {
	s := f.m.d.stmt(fmt.Sprintf("FETCH FORWARD %d FROM letters", foldRows))
	s.blobs = f.wire
	return s
}

// letter is borrowed until the next; its texts and its id are not.
func (f *folder) letter(row []value) *backends.DeadLetter {
	j := f.m.jobs
	f.l = backends.DeadLetter{
		Ref:      backends.Ref{Queue: f.m.queue, ID: idText(row[:len(f.m.id)])},
		Reason:   f.m.failure.reason(f.fact(row, factError)),
		Payload:  backends.Payload{Size: -1, Provenance: backends.AsStored},
		Attempts: backends.Attempts{Made: count(f.fact(row, factAttempts)), Limit: -1},
		Times:    backends.Times{Enqueued: f.time(j.EnqueuedAt, factEnqueued, row), Dead: f.time(j.DeadAt, factDead, row)},
		Origin:   backends.Origin{Job: f.job(f.fact(row, factJob))},
	}
	return &f.l
}

func (f *folder) fact(row []value, fact int) value {
	if at := f.facts[fact]; at >= 0 {
		return row[at]
	}
	return value{}
}

func (f *folder) job(v value) backends.Text {
	if f.m.jobs.Job.Value != "" {
		v = textValue(f.m.jobs.Job.Value)
	}
	text, ok := f.jobs[string(v.bytes)]
	if !ok {
		text = backends.Hostile(v.String())
		if len(f.jobs) < 1000 {
			f.jobs[string(v.bytes)] = text
		}
	}
	return text
}

func (f *folder) time(c TimeColumn, fact int, row []value) time.Time {
	at := f.facts[fact]
	switch {
	case at < 0:
		return time.Time{}
	case f.wire[at] && !f.columns[at].blob:
		return c.wired(row[at].bytes, f.columns[at].typ)
	}
	return c.at(row[at])
}
