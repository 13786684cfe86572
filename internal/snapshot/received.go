package snapshot

import (
	"context"
	"database/sql"
)

// Received adds to the Looks of letters. Of one that no look has seen the number
// alone is kept, for the look that will.
func (d *DB) Received(ctx context.Context, place string, ids ...string) error {
	return d.each(ctx, "counting letters that were received", place, ids, func(w *writer, old letter) error {
		l := old
		l.looks++
		if l.first == 0 {
			l.gone, l.last = 1, w.now
		}
		return w.store(&l, &old)
	})
}

// Drop forgets letters.
func (d *DB) Drop(ctx context.Context, place string, ids ...string) error {
	return d.each(ctx, "forgetting letters", place, ids, func(w *writer, l letter) error {
		if l.key == 0 {
			return nil
		}
		return w.exec(`DELETE FROM letters WHERE key = ?`, l.key)
	})
}

// each does something with the rows of letters, in one transaction.
func (d *DB) each(ctx context.Context, doing, place string, ids []string, f func(*writer, letter) error) error {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return d.trouble(doing, d.tx(ctx, func(t *sql.Tx) error {
		key, err := placeKey(t, place)
		if err != nil {
			return err
		}
		w := d.writer(t)
		defer w.close()
		for _, id := range ids {
			l, err := w.find(key, id)
			if err == nil {
				err = f(w, l)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}
