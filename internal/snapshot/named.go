package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// namedChunk is how many ids one statement looks up.
const namedChunk = 500

// named yields letters by id. Where they stand is found for all of them first,
// because their order is not that of the ids.
func (d *DB) named(ctx context.Context, place int64, q backends.SnapshotQuery, yield func(*backends.Snapshot, error) bool) error {
	var found []position
	for ids := range slices.Chunk(q.IDs, namedChunk) {
		some, err := d.find(ctx, place, ids)
		if err != nil {
			return err
		}
		found = append(found, some...)
	}
	slices.SortFunc(found, order)
	found = slices.CompactFunc(found, func(a, b position) bool { return order(a, b) == 0 })
	names, from := selection(q.Bodies)
	stmt, err := d.read.PrepareContext(ctx, `SELECT `+names+from+` WHERE l.place = ?1 AND l.id = ?2 AND l.first BETWEEN 1 AND ?3 AND l.last >= ?4
		AND l.gone = 0 AND l.pass >= (SELECT whole FROM places WHERE key = ?1)`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, at := range found {
		if order(at, positionOf(q)) <= 0 {
			continue
		}
		s, err := scan(stmt.QueryRowContext(ctx, place, at.id, latest(q), d.oldest()), q.Bodies)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		if !yield(s, nil) {
			return nil
		}
	}
	return nil
}

func order(a, b position) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), bytes.Compare(a.id, b.id))
}

// find says where letters stand.
func (d *DB) find(ctx context.Context, place int64, ids []string) (found []position, err error) {
	inHex := make([]string, len(ids)) // an id may hold bytes that no JSON text can
	for i, id := range ids {
		inHex[i] = hex.EncodeToString([]byte(id))
	}
	text, err := json.Marshal(inHex)
	if err != nil {
		return nil, err
	}
	rows, err := d.read.QueryContext(ctx, `SELECT l.rank, l.id FROM json_each(?2) j CROSS JOIN letters l ON l.place = ?1 AND l.id = unhex(j.value)`, place, string(text))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var at position
		if err := rows.Scan(&at.rank, &at.id); err != nil {
			return nil, err
		}
		found = append(found, at)
	}
	return found, rows.Err()
}
