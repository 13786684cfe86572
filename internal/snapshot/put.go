package snapshot

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// commitBytes is how much a transaction takes before it is committed. It bounds
// SQLite's log.
const commitBytes = 8 << 20

// Put keeps letters in one transaction, or, beyond 8 MiB, in several: after an
// error the first ones may have been kept.
func (p *pass) Put(ctx context.Context, letters ...backends.Snapshot) error {
	for _, s := range letters {
		if err := checkID(s.ID); err != nil {
			return err
		}
	}
	for len(letters) > 0 {
		n, size := 0, 0
		for n < len(letters) && (n == 0 || size+len(letters[n].Body) <= commitBytes) {
			size += len(letters[n].Body) + len(letters[n].Facts)
			n++
		}
		err := p.step(ctx, "keeping letters that were seen", func(t *sql.Tx) error { return p.put(t, letters[:n]) })
		if err != nil {
			return err
		}
		letters = letters[n:]
	}
	return nil
}

func (p *pass) put(t *sql.Tx, letters []backends.Snapshot) error {
	w := p.d.writer(t)
	defer w.close()
	w.pass = p
	for _, s := range letters {
		if err := w.put(s); err != nil {
			return err
		}
	}
	return p.note(t, `seen = seen + ?3`, w.seen)
}

// writer is one transaction that changes letters.
type writer struct {
	t      *sql.Tx
	now    int64
	oldest int64
	stmts  map[string]*sql.Stmt

	pass *pass // of Put
	seen int   // letters that the pass had not seen before
}

func (d *DB) writer(t *sql.Tx) *writer {
	now := nanos(d.clock())
	return &writer{t: t, now: now, oldest: now - d.keep.Load(), stmts: map[string]*sql.Stmt{}}
}

// stmt prepares a statement once.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.t.Prepare(query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = s
	return s, nil
}

func (w *writer) exec(query string, args ...any) error {
	s, err := w.stmt(query)
	if err == nil {
		_, err = s.Exec(args...)
	}
	return err
}

func (w *writer) close() {
	for _, s := range w.stmts {
		s.Close()
	}
}

// find reads a letter's row; there is none if key is 0. One whose time is over is
// removed, as if a sweep had been quicker.
func (w *writer) find(place int64, id string) (l letter, err error) {
	s, err := w.stmt(`SELECT ` + columns + ` FROM letters l WHERE place = ? AND id = ?`)
	if err != nil {
		return l, err
	}
	switch err = s.QueryRow(place, []byte(id)).Scan(l.fields()...); {
	case errors.Is(err, sql.ErrNoRows):
		return letter{place: place, id: []byte(id)}, nil
	case err != nil:
		return l, err
	}
	if err = l.check(); err == nil && l.last < w.oldest {
		err = w.exec(`DELETE FROM letters WHERE key = ?`, l.key)
		l = letter{place: place, id: []byte(id)}
	}
	return l, err
}

func (w *writer) put(s backends.Snapshot) error {
	old, err := w.find(w.pass.place, s.ID)
	if err != nil {
		return err
	}
	if old.key == 0 || old.pass != w.pass.n {
		w.seen++
	}
	l := old
	l.rank, l.size, l.facts, l.body = ^s.Order, int64(s.Size), some(s.Facts), digest(s.Body)
	l.pass, l.gone, l.last, l.looks = w.pass.n, 0, w.now, old.looks+1
	if l.first == 0 {
		l.first = w.now
	}
	if err := w.store(&l, &old); err != nil || bytes.Equal(l.body, old.body) {
		return err
	}
	return w.exec(`INSERT OR REPLACE INTO bodies(key, body) VALUES (?, ?)`, l.key, some(s.Body))
}

// store writes a row, and of one that was seen before only what is new: what
// stays costs neither room in SQLite's log nor time in its indexes.
func (w *writer) store(l, old *letter) error {
	l.sum = l.checksum()
	if l.key == 0 {
		return w.insert(l)
	}
	if l.rank == old.rank && l.gone == old.gone && l.size == old.size && l.first == old.first && bytes.Equal(l.facts, old.facts) && bytes.Equal(l.body, old.body) {
		return w.exec(`UPDATE letters SET pass = ?, looks = ?, last = ?, sum = ? WHERE key = ?`, l.pass, l.looks, l.last, l.sum, l.key)
	}
	return w.exec(`UPDATE letters SET rank = ?, pass = ?, gone = ?, looks = ?, first = ?, last = ?, size = ?, facts = ?, body = ?, sum = ? WHERE key = ?`,
		l.rank, l.pass, l.gone, l.looks, l.first, l.last, l.size, some(l.facts), some(l.body), l.sum, l.key)
}

func (w *writer) insert(l *letter) error {
	s, err := w.stmt(`INSERT INTO letters(place, id, rank, pass, gone, looks, first, last, size, facts, body, sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}
	res, err := s.Exec(l.place, l.id, l.rank, l.pass, l.gone, l.looks, l.first, l.last, l.size, some(l.facts), some(l.body), l.sum)
	if err != nil {
		return err
	}
	l.key, err = res.LastInsertId()
	return err
}
