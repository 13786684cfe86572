package snapshot

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// cutShort is the note of a look whose process died or gave up.
const cutShort = "the last look did not come to its end"

// state is what the row of a place says of its newest pass.
type state struct {
	pass  int64
	ended bool
	look  backends.Look
}

// Look is how far the newest look of the place has come. One that neither runs
// nor came to its end is told as such in Notes.
func (d *DB) Look(ctx context.Context, place string) (backends.Look, error) {
	s, err := d.newest(ctx, place)
	for err == nil && !s.ended {
		s.look.Running, err = d.state.Locked(lockName(place))
		if err != nil || s.look.Running {
			break
		}
		// It may have ended after its row was read.
		var again state
		if again, err = d.newest(ctx, place); err == nil && again.pass == s.pass && !again.ended {
			again.look.Notes = append(again.look.Notes, cutShort)
			again.ended = true
		}
		s = again
	}
	return s.look, d.trouble("asking how far a look is", err)
}

func (d *DB) newest(ctx context.Context, place string) (s state, err error) {
	var asOf int64
	var notes string
	err = d.read.QueryRowContext(ctx, `SELECT pass, ended, seen, total, notes, as_of FROM places WHERE place = ?`, []byte(place)).
		Scan(&s.pass, &s.ended, &s.look.Seen, &s.look.Total, &notes, &asOf)
	if errors.Is(err, sql.ErrNoRows) {
		return state{ended: true, look: backends.Look{Total: -1}}, nil
	}
	if err != nil {
		return s, err
	}
	s.look.AsOf = fromNanos(asOf)
	if json.Unmarshal([]byte(notes), &s.look.Notes) != nil {
		err = damaged("the notes of a look are not readable")
	}
	return s, err
}
