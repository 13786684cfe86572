package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// maxWeighed bounds how many letters of a group a request looks at to find as
// many as it may have. More are looked at only where more are asked for.
const maxWeighed = 10_000

// fewest letters are read at once, however few places are left.
const fewest = 20

// Reasons to be left out that say nothing about a letter.
const (
	leftBeyond    = "beyond_max_messages" // the places were taken
	leftUnweighed = "not_weighed"         // see maxWeighed
)

// weigh reads letters afresh, applies the patch and decides. Of a group it does
// so until its places are taken by letters that can be sent: what stands against
// a letter must not take the place of another one.
func (c *call) weigh(ctx context.Context, d *draft) error {
	rest, room := d.sel.ids, len(d.sel.ids)
	if d.sel.group != "" {
		room = d.sel.max
	}
	for len(rest) > 0 && len(d.items) < room {
		n := min(len(rest), MaxIDs, max(fewest, room-len(d.items)))
		if err := c.weighSome(ctx, d, rest[:n], room-len(d.items)); err != nil {
			return err
		}
		rest = rest[n:]
	}
	why, n := leftBeyond, len(rest)+d.more
	if len(d.items) < room {
		why = leftUnweighed
	}
	if n > 0 {
		d.leftOut[why] += n
	}
	return nil
}

// weighed is a letter that can be sent.
type weighed struct {
	at     int // its place among those that were asked for
	item   ledger.Item
	bytes  int // of what is patched, before and after
	paths  []string
	hidden int
	label  string
	dec    policy.Decision
	over   string // why it may not go without a person
}

// weighSome weighs up to MaxIDs letters and takes the first of them, as far as
// there is room.
func (c *call) weighSome(ctx context.Context, d *draft, ids []string, room int) (err error) {
	letters := d.t.at.Letters()
	if d.claims, err = c.st.ledger.Claims(ctx, letters, ids); err != nil {
		return err
	}
	if d.denied, err = c.st.ledger.Denials(ctx, letters, ids); err != nil {
		return err
	}
	if d.k.replays, err = c.replays(ctx, d.t, ids); err != nil {
		return err
	}
	var found []weighed // by place, no more than there is room for
	bytes := d.bodies
	err = c.fetch(ctx, d.t, ids, func(l *backends.DeadLetter) error {
		w := c.weighOne(d, l)
		if w == nil {
			return nil
		}
		w.at = slices.Index(ids, l.ID)
		i, _ := slices.BinarySearchFunc(found, w.at, func(w weighed, at int) int { return w.at - at })
		found = slices.Insert(found, i, *w)
		if bytes += w.bytes; len(found) > room {
			bytes -= found[room].bytes
			found = found[:room]
			d.leftOut[leftBeyond]++
		}
		if bytes > maxBodies {
			return refuse(CodeLimit, "The patched bodies of this request have more than %d MB together. Request fewer letters at once.", maxBodies>>20)
		}
		return nil
	}, func(id string) { d.leave(id, "gone", backends.Gone.Sentence()) })
	d.bodies = bytes
	for _, w := range found {
		d.take(w)
	}
	return err
}

// weighOne decides about one letter; nil is one that is left out.
func (c *call) weighOne(d *draft, l *backends.DeadLetter) *weighed {
	v := d.t.look(c.pol, l, false)
	switch by := d.claims[l.ID]; {
	case !utf8.ValidString(l.ID) || !utf8.ValidString(l.Mark) || strings.ContainsRune(l.ID+l.Mark, 0):
		return d.leave(l.ID, "unnameable", "its id or its time of death is no valid text, so no plan can name it")
	case d.sel.group != "" && (v.group != d.sel.group || l.Times.Dead.After(d.sel.asOf)):
		return d.leave(l.ID, "changed", "it left the group since the listing")
	case by != "" && (d.replace == nil || by != d.replace.ID):
		return d.leave(l.ID, "claimed", "request "+by+" has it")
	}
	w := &weighed{item: ledger.Item{Ref: l.Ref, Salt: plan.NewSalt()}, hidden: v.body.places, label: v.label}
	var j judged
	if d.ch != nil {
		out, err := d.ch.apply(d.t.q, l)
		switch {
		case v.body.withheld != "":
			err = errors.New("its payload is withheld: " + v.body.withheld)
		case err == nil && out.same():
			err = errors.New("the patch changes nothing in it")
		}
		if err != nil {
			return d.leave(l.ID, "patch_does_not_apply", d.t.say(err))
		}
		w.item.Body, w.paths, j = out.body, append(out.paths, out.hidden...), out.judged
		w.bytes = len(out.before) + len(out.after)
	}
	return c.decideOne(d, l, &v, w, j)
}

func (c *call) decideOne(d *draft, l *backends.DeadLetter, v *seen, w *weighed, j judged) *weighed {
	if c.caller.Kind == KindAgent {
		if why := denied(d.t.q, l, d.denied[l.ID], w.item.Body); why != "" {
			return d.leave(l.ID, "denied", why)
		}
	}
	w.dec = d.t.q.Decide(d.k.facts(c, l, v, j))
	if w.dec.Effect == policy.Never {
		return d.leave(l.ID, "never", c.refusal(d.t.q, v, w.dec))
	}
	if w.dec.Effect == policy.Direct {
		w.over = d.k.over(l.ID, w.dec.Limits)
	}
	if w.item.Body != nil {
		w.item.Original = slices.Clone(l.Payload.Bytes) // what is borrowed is not kept
	}
	return w
}

// take adds a letter to the request. The strictest letter decides about all.
func (d *draft) take(w weighed) {
	w.item.N = len(d.items)
	d.items = append(d.items, w.item)
	for _, p := range w.paths {
		d.paths[p] = true
	}
	if strict := policy.Stricter(d.effect, w.dec.Effect); strict != d.effect || d.rule.Rule == "" {
		d.effect, d.rule = strict, w.dec
	}
	d.limits = policy.Tighter(d.limits, w.dec.Limits)
	d.hidden = max(d.hidden, w.hidden)
	d.over = cmp.Or(d.over, w.over)
	d.label = cmp.Or(d.label, w.label)
}

// refusal is what an agent is told about a letter that the policy forbids.
func (c *call) refusal(q *policy.Queue, v *seen, dec policy.Decision) string {
	why := dec.Why
	if v.message != "" {
		// Mostly "the error is permanent …", which the error itself can finish.
		subject := "the error " + quote(oneLine(v.message, 80))
		if rest, ok := strings.CutPrefix(why, "the error is "); ok {
			why = subject + " is " + rest
		} else {
			why = subject + ": " + why
		}
	}
	text := fmt.Sprintf("refused by rule %s: %s", dec.Rule, why)
	if dec.Allowed != "" {
		text += ". " + dec.Allowed
	}
	return strings.TrimSuffix(text, ".")
}

// over says why a letter may not go without a person once more, "" if it may.
func (k known) over(id string, l policy.Limits) string {
	r := k.replays[id]
	switch {
	case l.PerMessage > 0 && r.Count >= l.PerMessage:
		return fmt.Sprintf("a letter was redriven %d times before, and %d are allowed without a person", r.Count, l.PerMessage)
	case l.Cooldown > 0 && r.Count > 0 && k.now.Sub(r.Last) < l.Cooldown:
		return fmt.Sprintf("a letter was redriven less than %s ago", l.Cooldown)
	}
	return ""
}

func (d *draft) leave(id, why, sentence string) *weighed {
	d.leftOut[why]++
	d.why = addWhy(d.why, id, sentence)
	return nil
}
