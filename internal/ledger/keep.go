package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Patch is a proposed change, kept until it is used or expires.
type Patch struct {
	ID, Queue, Kind  string // Kind: patch (RFC 6902), merge_patch (RFC 7396), replace_body
	Data             []byte
	Note, Principal  string
	Created, Expires time.Time
}

// ErrNoPatch means that no patch has this id, or its time is up.
var ErrNoPatch = errors.New("no such patch")

// PutPatch keeps a patch.
func (l *Ledger) PutPatch(ctx context.Context, p Patch) error {
	return wrap("keeping a patch", l.timed(ctx, func(t *txn) error {
		if _, err := t.Exec(`DELETE FROM patches WHERE expires <= ?`, t.now); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO patches(id, queue, kind, data, note, principal, created, expires) VALUES (?,?,?,?,?,?,?,?)`,
			p.ID, p.Queue, p.Kind, p.Data, p.Note, p.Principal, micros(p.Created), micros(p.Expires))
		return err
	}))
}

// Patch finds a patch that has not expired.
func (l *Ledger) Patch(ctx context.Context, id string) (p Patch, err error) {
	now, _ := l.Now()
	var created, expires int64
	err = l.read.QueryRowContext(ctx, `SELECT id, queue, kind, data, note, principal, created, expires FROM patches WHERE id = ? AND expires > ?`, id, micros(now)).
		Scan(&p.ID, &p.Queue, &p.Kind, &p.Data, &p.Note, &p.Principal, &created, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return p, ErrNoPatch
	}
	p.Created, p.Expires = fromMicros(created), fromMicros(expires)
	return p, wrap("reading a patch", err)
}

// insertOriginals keeps what a plan changes in place, before it is changed.
func (t *txn) insertOriginals(p Plan, items []Item) error {
	if _, err := t.Exec(`DELETE FROM snapshots WHERE expires <= ?`, t.now); err != nil {
		return err
	}
	for _, it := range items {
		if it.Original == nil {
			continue
		}
		if _, err := t.Exec(`INSERT INTO snapshots(plan, n, body, expires) VALUES (?,?,?,?)`, p.ID, it.N, it.Original, t.now+p.Keep.Microseconds()); err != nil {
			return err
		}
	}
	return nil
}

// Original is the body of an item before a plan changed it, nil if none is kept.
func (l *Ledger) Original(ctx context.Context, plan string, n int) (body []byte, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT body FROM snapshots WHERE plan = ? AND n = ?`, plan, n).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return blob(body, err != nil), wrap("reading an original", err)
}

// Secret is a random key of this ledger, made once; it authenticates cursors.
func (l *Ledger) Secret(ctx context.Context) ([]byte, error) {
	text, err := l.Meta(ctx, "secret")
	if err != nil || text != "" {
		return unhex(text, err)
	}
	fresh := make([]byte, 32)
	rand.Read(fresh)
	err = l.tx(ctx, func(t *txn) error {
		if _, err := t.Exec(`INSERT INTO meta(key, value) VALUES ('secret', ?) ON CONFLICT DO NOTHING`, hex.EncodeToString(fresh)); err != nil {
			return err
		}
		return t.QueryRow(`SELECT value FROM meta WHERE key = 'secret'`).Scan(&text)
	})
	return unhex(text, err)
}

func unhex(text string, err error) ([]byte, error) {
	if err != nil {
		return nil, wrap("reading the ledger's key", err)
	}
	return hex.DecodeString(text)
}

// Head is the newest audit record that the ledger knows of.
type Head struct {
	Log  string
	Seq  uint64
	Hash string
}

// SetHead notes a record of the log, unless a newer one is noted already.
func (l *Ledger) SetHead(ctx context.Context, h Head) error {
	return wrap("noting the log's head", l.timed(ctx, func(t *txn) error { return t.setHead(h) }))
}

func (t *txn) setHead(h Head) error {
	if h.Hash == "" {
		return nil
	}
	_, err := t.Exec(`INSERT INTO meta(key, value) VALUES ('head', ?1) ON CONFLICT(key) DO UPDATE SET value = ?1
		WHERE CAST(value AS INTEGER) < CAST(?1 AS INTEGER)`, fmt.Sprintf("%d %s %s", h.Seq, h.Hash, h.Log))
	return err
}

// Head is the newest audit record that the ledger knows of, zero if none.
func (l *Ledger) Head(ctx context.Context) (h Head, err error) {
	text, err := l.Meta(ctx, "head")
	if err != nil || text == "" {
		return h, err
	}
	_, err = fmt.Sscanf(text, "%d %s %s", &h.Seq, &h.Hash, &h.Log)
	return h, wrap("reading the log's head", err)
}

// Meta reads a note, "" if there is none.
func (l *Ledger) Meta(ctx context.Context, key string) (value string, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = ?`, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, wrap("reading "+key, err)
}

// SetMeta keeps a note.
func (l *Ledger) SetMeta(ctx context.Context, key, value string) error {
	return wrap("noting "+key, l.timed(ctx, func(t *txn) error {
		_, err := t.Exec(`INSERT INTO meta(key, value) VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2`, key, value)
		return err
	}))
}

// NewID draws an id such as r-7k2m9qxa: eight characters of an alphabet without
// look-alikes, 40 bits.
func NewID(prefix string) string {
	const alphabet = "23456789abcdefghjkmnpqrstuvwxyz0"
	b := make([]byte, 8)
	rand.Read(b)
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return prefix + "-" + string(b)
}
