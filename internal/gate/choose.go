package gate

import (
	"context"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
)

// choice is which letters a call is about: by id, or a group as it was listed.
type choice struct {
	queue string
	ids   []string
	group string
	asOf  time.Time
	max   int
}

// checkChoice reads the selecting arguments of propose_patch and
// request_redrive.
func checkChoice(queue, id string, ids []string, group, asOf string, most int) (ch choice, err error) {
	ch = choice{queue: queue, group: group, max: most}
	given := 0
	for _, set := range []bool{id != "", ids != nil, group != ""} {
		if set {
			given++
		}
	}
	if given != 1 {
		return ch, refuse(CodeBadArgument, "Give exactly one of `id`, `ids` and `group`.")
	}
	if group != "" {
		return ch, ch.checkGroup(asOf)
	}
	if asOf != "" || most != 0 {
		return ch, refuse(CodeBadArgument, "`as_of` and `max_messages` go with `group` only.")
	}
	if id != "" {
		ids = []string{id}
	}
	return ch, ch.checkIDs(ids)
}

func (ch *choice) checkGroup(asOf string) (err error) {
	if len(ch.group) > 64 {
		return refuse(CodeBadArgument, "`group` is not one that group_dead_letters gave.")
	}
	if ch.max < 1 {
		return refuse(CodeBadArgument, "A group needs `max_messages` of 1 or more, so that it is clear how many are meant.")
	}
	if asOf == "" {
		return refuse(CodeBadArgument, "A group needs the `as_of` of the listing, so that letters which came later are not in it.")
	}
	ch.asOf, err = parseTime("as_of", asOf)
	return err
}

func (ch *choice) checkIDs(ids []string) error {
	switch {
	case len(ids) == 0:
		return refuse(CodeBadArgument, "`ids` is empty; name at least one letter.")
	case len(ids) > MaxIDs:
		return refuse(CodeBadArgument, "`ids` holds %d ids; at most %d a call. Use `group` for more.", len(ids), MaxIDs)
	}
	for _, id := range ids {
		raw, err := checkID("ids", id)
		if err != nil {
			return err
		}
		if slices.Contains(ch.ids, raw) {
			return refuse(CodeBadArgument, "`ids` names %s twice.", quote(id))
		}
		ch.ids = append(ch.ids, raw)
	}
	return nil
}

// groups are the error group that was named, if one was.
func (ch *choice) groups() []string {
	if ch.group == "" {
		return nil
	}
	return []string{ch.group}
}

// args are the choice as the log records it.
func (ch *choice) args() []audit.Arg {
	if ch.group != "" {
		return []audit.Arg{{Key: "group", Value: words(quote(ch.group))}, {Key: "as_of", Value: exact(ch.asOf)}, {Key: "max_messages", Value: ch.max}}
	}
	shown := make([]string, len(ch.ids))
	for i, id := range ch.ids {
		shown[i] = showID(id)
	}
	return []audit.Arg{{Key: "ids", Value: shown}}
}

// resolve turns a group into ids, newest death first, at most `most` of them, and
// counts the letters of the group beyond.
func (c *call) resolve(ctx context.Context, t *target, ch *choice, most int) (more int, err error) {
	if ch.group == "" {
		return 0, nil
	}
	if ch.asOf, err = c.asOf(ctx, t, ch.asOf); err != nil {
		return 0, err
	}
	for d, err := range t.store.Scan(ctx, backends.Query{Queue: t.q.Name, AsOf: ch.asOf, Bodies: t.needsBody()}) {
		if err != nil {
			return 0, storeRefusal(t.q.Name, err)
		}
		switch v := t.glance(d, false); {
		case v.group != ch.group:
		case len(ch.ids) < most:
			ch.ids = append(ch.ids, d.ID)
		default:
			more++
		}
	}
	if len(ch.ids) == 0 {
		return 0, refuse(CodeNothing, "No letter of %s is in group %s as of %s. List the groups again.", t.q.Name, quote(ch.group), exact(ch.asOf))
	}
	return more, nil
}

// maxFetch is how many letters a store is asked for by id at once.
const maxFetch = 500

// fetch yields letters by id with their bodies, a few hundred at a time, and
// calls missing for those that are not there (any more).
func (c *call) fetch(ctx context.Context, t *target, ids []string, each func(*backends.DeadLetter) error, missing func(id string)) error {
	for chunk := range slices.Chunk(ids, maxFetch) {
		found := map[string]bool{}
		for d, err := range t.store.Scan(ctx, backends.Query{Queue: t.q.Name, IDs: chunk, Bodies: true}) {
			if err != nil {
				return storeRefusal(t.q.Name, err)
			}
			found[d.ID] = true
			if err := each(d); err != nil {
				return err
			}
		}
		for _, id := range chunk {
			if !found[id] {
				missing(id)
			}
		}
	}
	return nil
}
