package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Replay is how often a message was redriven through this ledger, and when last.
type Replay struct {
	Count int
	Last  time.Time
}

// lineage follows a message back through every id that a send gave it. UNION
// ends the walk where ids come round again. CROSS JOIN keeps SQLite from walking
// along all that was ever sent from a place instead of the few ids asked about.
const lineage = `WITH RECURSIVE chain(asked, id) AS (
		SELECT value, value FROM json_each(?2)
		UNION
		SELECT c.asked, i.id FROM chain c CROSS JOIN items i ON i.place = ` + placeOf + ` AND i.new_id = c.id AND i.new_id <> ''
	)
	SELECT c.asked, i.at, i.plan, i.state, i.intended FROM chain c CROSS JOIN items i ON i.place = ` + placeOf + ` AND i.id = c.id
	WHERE i.intended > 0`

const replaysQuery = `SELECT asked, count(*), max(intended) FROM (` + lineage + `) GROUP BY asked`

// Replays counts for each letter how often it, or the message that it came from,
// was sent or may have been sent.
func (l *Ledger) Replays(ctx context.Context, letters string, ids []string) (map[string]Replay, error) {
	arg, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := l.read.QueryContext(ctx, replaysQuery, letters, string(arg))
	if err != nil {
		return nil, wrap("counting replays", err)
	}
	defer rows.Close()
	out := map[string]Replay{}
	for rows.Next() {
		var id string
		var r Replay
		var last int64
		if err := rows.Scan(&id, &r.Count, &last); err != nil {
			return nil, err
		}
		r.Last = fromMicros(last)
		out[id] = r
	}
	return out, rows.Err()
}

// Earlier is one earlier redrive of a message.
type Earlier struct {
	Plan  string
	At    time.Time
	State backends.State
}

// Earlier lists the earlier redrives of a message, oldest first.
func (l *Ledger) Earlier(ctx context.Context, letters, id string) ([]Earlier, error) {
	arg, err := json.Marshal([]string{id})
	if err != nil {
		return nil, err
	}
	rows, err := l.read.QueryContext(ctx, lineage, letters, string(arg))
	if err != nil {
		return nil, wrap("reading earlier redrives", err)
	}
	defer rows.Close()
	var out []Earlier
	for rows.Next() {
		var asked string
		var e Earlier
		var at, intended int64
		if err := rows.Scan(&asked, &at, &e.Plan, &e.State, &intended); err != nil {
			return nil, err
		}
		e.At = fromMicros(at)
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Earlier) int { return a.At.Compare(b.At) })
	return out, rows.Err()
}

// Used counts what was sent, is unknown or is reserved on a physical queue
// within the last hour.
func (l *Ledger) Used(ctx context.Context, physical string) (n int, err error) {
	now, _ := l.Now()
	err = l.read.QueryRowContext(ctx, `SELECT
		coalesce((SELECT sum(n) FROM batches WHERE physical = ?1 AND at > ?2), 0) +
		coalesce((SELECT sum(n) FROM reserved WHERE physical = ?1 AND at > ?2), 0)`,
		physical, micros(now.Add(-time.Hour))).Scan(&n)
	return n, wrap("counting the hour's redrives", err)
}
