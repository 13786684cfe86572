package snapshot

import (
	"context"
	"database/sql"
)

// sweepStep is how many rows one transaction marks or removes.
const sweepStep = 1000

// sweeps are, in order: mark what is not listed any more, so that no list has to
// step over it; remove what was last seen too long ago, of what is not listed, of
// what earlier passes of this place saw, and of places that nobody has looked at
// for so long. ?1 is the place, ?2 the oldest time, ?3 the number of rows.
var sweeps = []string{
	`UPDATE letters SET gone = 1 WHERE key IN (SELECT key FROM letters
		WHERE place = ?1 AND gone = 0 AND pass < (SELECT whole FROM places WHERE key = ?1) LIMIT ?3)`,
	`DELETE FROM letters WHERE key IN (SELECT key FROM letters
		WHERE place IN (SELECT key FROM places) AND gone = 1 AND last < ?2 LIMIT ?3)`,
	`DELETE FROM letters WHERE key IN (SELECT key FROM letters
		WHERE place = ?1 AND gone = 0 AND pass < (SELECT pass FROM places WHERE key = ?1) AND last < ?2 LIMIT ?3)`,
	`DELETE FROM letters WHERE key IN (SELECT key FROM letters
		WHERE place IN (SELECT key FROM places WHERE began < ?2) AND gone = 0 AND last < ?2 LIMIT ?3)`,
}

// sweep goes on until nothing is left to do or ctx ends, which is no error: the
// next sweep goes on.
func (d *DB) sweep(ctx context.Context, place int64) error {
	for _, query := range sweeps {
		for n := int64(sweepStep); n == sweepStep; {
			err := ctx.Err()
			if err == nil {
				err = d.tx(ctx, func(t *sql.Tx) error {
					res, err := t.Exec(query, place, d.oldest(), sweepStep)
					if err == nil {
						n, err = res.RowsAffected()
					}
					return err
				})
			}
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	return d.shrink(ctx)
}

// shrink gives room back to the disk while more than a quarter of the file is
// free. The rest is for the next look.
func (d *DB) shrink(ctx context.Context) error {
	for ctx.Err() == nil {
		var pages, free int
		if err := d.read.QueryRowContext(context.WithoutCancel(ctx), `SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count`).Scan(&pages, &free); err != nil {
			return err
		}
		if free < sweepStep || free < pages/4 {
			return nil
		}
		err := d.tx(ctx, func(t *sql.Tx) error {
			rows, err := t.Query(`PRAGMA incremental_vacuum(1000)`) // it does its work row by row
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
