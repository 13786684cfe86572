package sqljobs

import (
	"context"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// found is what a row is now.
type found struct {
	ref       backends.Ref
	id        []value
	patchable bool // asked only of a letter that is patched
}

// match locks the rows of the batch and compares each with what was planned.
func (b *batch) match(ctx context.Context, t tx) error {
	wanted, ids := b.wanted()
	if len(ids) == 0 {
		return nil
	}
	locked, err := b.read(ctx, t, ids, b.m.d.skip, wanted)
	if err != nil {
		return err
	}
	missing := map[string]backends.Item{}
	for id, it := range wanted {
		f, ok := locked[id]
		switch {
		case !ok:
			missing[id] = it
		case f.ref != it.Ref:
			b.skip(it.N, backends.Changed)
		case it.Body != nil && !f.patchable:
			b.outcomes = append(b.outcomes, backends.Outcome{N: it.N, State: backends.Failed, Code: backends.Refused})
		default:
			b.hits = append(b.hits, hit{item: it, id: f.id})
		}
	}
	sortHits(b.hits)
	return b.classify(ctx, t, missing)
}

// wanted are the items by id. An id that cannot be one, or that stands twice
// in the batch, gets its outcome here.
func (b *batch) wanted() (map[string]backends.Item, [][]value) {
	wanted := map[string]backends.Item{}
	var ids [][]value
	for _, it := range b.items {
		id, ok := idValues(it.Ref.ID, b.m.idBlobs)
		_, twice := wanted[it.Ref.ID]
		switch {
		case !ok || b.possible != nil && !b.possible[it.Ref.ID]:
			b.skip(it.N, backends.Gone)
		case twice:
			b.skip(it.N, backends.Changed)
		default:
			wanted[it.Ref.ID] = it
			ids = append(ids, id)
		}
	}
	return wanted, ids
}

// read reads rows of the queue's dead letters by id, and locks them as said.
func (b *batch) read(ctx context.Context, t tx, ids [][]value, lock string, wanted map[string]backends.Item) (map[string]found, error) {
	rows := make(map[string]found, len(ids))
	s := b.m.having(b.m.rows(true), ids).add(lock)
	err := t.query(ctx, s, func(row []value) error {
		f := found{ref: b.m.ref(row, b.m.seal(row, false))}
		for _, v := range b.m.idOf(row) {
			f.id = append(f.id, v.clone())
		}
		if wanted[f.ref.ID].Body != nil {
			payload := b.m.named(row, b.m.jobs.Payload.Column)
			_, why := b.m.recognise(payload)
			f.patchable = why == "" && payload.kind != null
		}
		rows[f.ref.ID] = f
		return nil
	})
	return rows, err
}

// classify says why items were not locked: another session holds the row, or
// it changed, or it is not among the dead letters.
func (b *batch) classify(ctx context.Context, t tx, missing map[string]backends.Item) error {
	if len(missing) == 0 {
		return nil
	}
	var ids [][]value
	for id := range missing {
		vs, _ := idValues(id, b.m.idBlobs)
		ids = append(ids, vs)
	}
	there, err := b.read(ctx, t, ids, "", nil)
	if err != nil {
		return err
	}
	for id, it := range missing {
		switch f, ok := there[id]; {
		case !ok:
			b.skip(it.N, backends.Gone)
		case f.ref == it.Ref:
			b.skip(it.N, backends.Busy)
		default:
			b.skip(it.N, backends.Changed)
		}
	}
	return nil
}
