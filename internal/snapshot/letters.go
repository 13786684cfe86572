package snapshot

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const (
	firstPage = 64 // rows: most readers take no more
	longPage  = 1024
	pageBytes = 2 << 20
)

// position is a place in the order: behind the letter with this rank and id.
type position struct {
	rank int64
	id   []byte
}

func positionOf(q backends.SnapshotQuery) position {
	if q.After == "" {
		return position{math.MinInt64, []byte{}}
	}
	return position{^q.Order, []byte(q.After)}
}

// Letters yields letters page by page. A page is read whole before the first of
// it is yielded, so that a slow reader neither holds up SQLite's log nor sees a
// letter twice. Pages may differ in time.
func (d *DB) Letters(ctx context.Context, place string, q backends.SnapshotQuery) iter.Seq2[*backends.Snapshot, error] {
	return func(yield func(*backends.Snapshot, error) bool) {
		var key int64
		err := d.read.QueryRowContext(ctx, `SELECT key FROM places WHERE place = ?`, []byte(place)).Scan(&key)
		if errors.Is(err, sql.ErrNoRows) {
			return
		}
		if err == nil && q.IDs != nil {
			err = d.named(ctx, key, q, yield)
		} else if err == nil {
			err = d.listed(ctx, key, q, yield)
		}
		if err != nil {
			yield(nil, d.trouble("reading letters that were seen", err))
		}
	}
}

func (d *DB) listed(ctx context.Context, place int64, q backends.SnapshotQuery, yield func(*backends.Snapshot, error) bool) error {
	at := positionOf(q)
	for rows := firstPage; ; rows = min(4*rows, longPage) {
		page, more, err := d.page(ctx, place, q, at, rows)
		if err != nil {
			return err
		}
		for i, s := range page {
			page[i] = nil
			at = position{^s.Order, []byte(s.ID)}
			if !yield(s, nil) {
				return nil
			}
		}
		if !more {
			return nil
		}
	}
}

// page reads at most so many rows, and fewer if they are large. more says that
// others may follow.
func (d *DB) page(ctx context.Context, place int64, q backends.SnapshotQuery, at position, n int) (page []*backends.Snapshot, more bool, err error) {
	columns, from := selection(q.Bodies)
	rows, err := d.read.QueryContext(ctx, `SELECT `+columns+from+`
		WHERE l.place = ?1 AND l.gone = 0 AND (l.rank, l.id) > (?2, ?3)
		AND l.pass >= (SELECT whole FROM places WHERE key = ?1) AND l.first <= ?4 AND l.last >= ?5
		ORDER BY l.rank, l.id LIMIT ?6`, place, at.rank, at.id, latest(q), d.oldest(), n)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for size := 0; size < pageBytes; {
		if !rows.Next() {
			return page, len(page) == n, rows.Err()
		}
		s, err := scan(rows, q.Bodies)
		if err != nil {
			return nil, false, err
		}
		page = append(page, s)
		size += len(s.ID) + len(s.Facts) + len(s.Body)
	}
	return page, true, nil
}

// selection is what a letter is read from.
func selection(bodies bool) (names, from string) {
	if bodies {
		return columns + ", b.body", ` FROM letters l LEFT JOIN bodies b ON b.key = l.key`
	}
	return columns, ` FROM letters l`
}

// latest is up to when a letter must have been seen first.
func latest(q backends.SnapshotQuery) int64 {
	if q.AsOf.IsZero() {
		return math.MaxInt64
	}
	return q.AsOf.UnixNano()
}

func scan(row interface{ Scan(...any) error }, bodies bool) (*backends.Snapshot, error) {
	var l letter
	var body []byte
	fields := l.fields()
	if bodies {
		fields = append(fields, &body)
	}
	if err := row.Scan(fields...); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	s := l.snapshot()
	if bodies {
		s.Body = some(body)
		if string(digest(s.Body)) != string(l.body) {
			return nil, damaged("the body of the letter in row %d is not as it was put there", l.key)
		}
	}
	return s, nil
}
