package sqljobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

func sortHits(hits []hit) {
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.item.N, b.item.N) })
}

// errShort means that a guarded write changed another number of rows than were
// locked: a trigger or a row policy kept it from some.
var errShort = errors.New("the write reached fewer rows than were locked")

// apply writes the batch: all rows at once, and one by one when the database
// refuses some, so that one bad row does not keep the others back.
func (b *batch) apply(ctx context.Context, t tx) error {
	if len(b.hits) == 0 {
		return nil
	}
	err := b.guarded(ctx, t, b.hits)
	if err == nil || !b.ofOneRow(err) {
		return err
	}
	all := b.hits
	b.hits = nil
	for i := range all {
		one := all[i : i+1]
		switch err := b.guarded(ctx, t, one); {
		case err == nil:
			b.hits = append(b.hits, one[0])
		case b.ofOneRow(err):
			b.fail(one[0], b.store.engine.fault(err), err)
		default:
			return err
		}
	}
	return nil
}

func (b *batch) ofOneRow(err error) bool {
	f := b.store.engine.fault(err)
	return errors.Is(err, errShort) || f.row || f.badInput
}

// guarded writes rows within a savepoint and takes the writes back if they
// fail. Deferred constraints are asked at once: at the commit it would be too
// late to tell which row is at fault.
func (b *batch) guarded(ctx context.Context, t tx, hits []hit) error {
	if _, err := t.exec(ctx, b.m.d.stmt("SAVEPOINT redrive")); err != nil {
		return err
	}
	err := b.write(ctx, t, hits)
	if err == nil && b.m.d.deferred != "" {
		_, err = t.exec(ctx, b.m.d.stmt(b.m.d.deferred))
	}
	if err == nil {
		_, err := t.exec(ctx, b.m.d.stmt("RELEASE SAVEPOINT redrive"))
		return err
	}
	if _, back := t.exec(ctx, b.m.d.stmt("ROLLBACK TO SAVEPOINT redrive")); back != nil {
		return back
	}
	return err
}

func (b *batch) write(ctx context.Context, t tx, hits []hit) error {
	if b.m.jobs.Redrive.Insert != nil {
		return b.insert(ctx, t, hits)
	}
	return b.update(ctx, t, hits)
}

// update sets all unpatched rows in one statement, and each patched row in one
// of its own.
func (b *batch) update(ctx context.Context, t tx, hits []hit) error {
	var asStored [][]value
	for _, h := range hits {
		if h.item.Body == nil {
			asStored = append(asStored, h.id)
			continue
		}
		body := b.m.body(h.item.Body)
		if err := b.set(ctx, t, [][]value{h.id}, &body); err != nil {
			return err
		}
	}
	if len(asStored) == 0 {
		return nil
	}
	return b.set(ctx, t, asStored, nil)
}

// set is the guarded update of some rows.
func (b *batch) set(ctx context.Context, t tx, ids [][]value, body *value) error {
	s := b.m.d.stmt("UPDATE ").add(b.m.table(), " SET ")
	if err := b.m.assign(s, b.attempts, body); err != nil {
		return err
	}
	return b.exactly(ctx, t, b.m.having(b.m.where(s), ids), len(ids))
}

func (b *batch) exactly(ctx context.Context, t tx, s *stmt, want int) error {
	n, err := t.exec(ctx, s)
	if err == nil && n != int64(want) {
		return errShort
	}
	return err
}

// body is a payload as its column takes it.
func (m *mapping) body(raw []byte) value {
	if c, _ := m.cat.column(m.jobs.Payload.Column); c.blob {
		return value{blob, raw}
	}
	return value{text, raw}
}

// insert makes a new row of each dead one, which is then marked or deleted.
// Only rows that were inserted are marked.
func (b *batch) insert(ctx context.Context, t tx, hits []hit) error {
	ids := make([][]value, len(hits))
	for i := range hits {
		ids[i] = hits[i].id
		id, err := b.insertOne(ctx, t, hits[i])
		if err != nil {
			return err
		}
		hits[i].newID = id
	}
	if !b.m.jobs.Redrive.Insert.Delete {
		return b.set(ctx, t, ids, nil)
	}
	s := b.m.d.stmt("DELETE FROM ").add(b.m.table())
	return b.exactly(ctx, t, b.m.having(b.m.where(s), ids), len(ids))
}

func (b *batch) insertOne(ctx context.Context, t tx, h hit) (string, error) {
	var body *value
	if h.item.Body != nil {
		v := b.m.body(h.item.Body)
		body = &v
	}
	s := b.m.having(b.m.copies(body), [][]value{h.id})
	s.add(" RETURNING ", strings.Join(quoteAll(b.m.jobs.Redrive.Insert.Returning), ", "))
	var ids []string
	err := t.query(ctx, s, func(row []value) error {
		ids = append(ids, idText(row))
		return nil
	})
	if err == nil && len(ids) != 1 {
		err = errShort
	}
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// copies starts an INSERT of the dead letters of the queue as new rows.
func (m *mapping) copies(body *value) *stmt {
	in := m.jobs.Redrive.Insert
	s := m.d.stmt("INSERT INTO ").add(in.Into.sql(), " (")
	var targets, sources []string
	for _, target := range sortedKeys(in.Columns) {
		source := quote(in.Columns[target])
		if body != nil && in.Columns[target] == m.jobs.Payload.Column {
			source = m.d.cast(s.bind(*body), m.cat.columns[m.at[m.jobs.Payload.Column]])
		}
		targets, sources = append(targets, quote(target)), append(sources, source)
	}
	for _, target := range sortedKeys(in.Set) {
		targets, sources = append(targets, quote(target)), append(sources, m.expr(m.target(target), in.Set[target]))
	}
	return m.where(s.add(strings.Join(targets, ", "), ") SELECT ", strings.Join(sources, ", "), " FROM ", m.table()))
}

// leaveReceipt writes the proof of the batch into its own transaction.
func (s *Store) leaveReceipt(ctx context.Context, t tx, m *mapping, ticket string, hits []hit) error {
	if s.receipts == nil {
		return nil
	}
	newIDs := map[string]string{}
	for _, h := range hits {
		if h.newID != "" {
			newIDs[h.item.Ref.ID] = h.newID
		}
	}
	q := m.d.stmt("INSERT INTO ").add(s.receipts.sql(), " (ticket, sent_at, queue, items, new_ids) VALUES (")
	q.add(q.bind(textValue(ticket)), ", ", m.d.now, ", ", q.bind(textValue(m.jobs.Table.String()+"#"+m.selector)), ", ")
	q.add(q.bind(textValue(itoa(len(hits)))), ", ", q.bind(textValue(jsonObject(newIDs))), ")")
	_, err := t.exec(ctx, q)
	return err
}
