package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
)

// maxGroups bounds the memory of one grouping; the letters of all further groups
// are counted as if they were one.
const maxGroups = 10_000

// sampleIDs is how many ids of a group are named, moreIDs in detail.
const (
	sampleIDs = 3
	moreIDs   = 10
)

func (s *session) group(ctx context.Context, args GroupArgs) (*GroupResult, error) {
	l, err := s.checkListing(args.Filter, args.AsOf, args.Limit, MaxGroups, DefaultGroups, args.ResponseFormat)
	if err != nil {
		return nil, s.refusedArgs(ctx, "group_dead_letters", args.Queue, err)
	}
	c, err := s.begin(ctx, "group_dead_letters", args.Queue, append(l.args(), audit.Arg{Key: "refresh", Value: args.Refresh})...)
	if err != nil {
		return nil, err
	}
	res, err := c.group(ctx, args.Queue, l, args.Refresh)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

// listing are the checked arguments that lists and groups share.
type listing struct {
	m        *matcher
	asOf     time.Time
	limit    int
	detailed bool
}

func (s *session) checkListing(f *Filter, asOf string, limit, most, normal int, form string) (l listing, err error) {
	if l.detailed, err = format(form); err != nil {
		return l, err
	}
	l.detailed = l.detailed || s.who().Kind == KindPerson // tokens are an agent's concern
	if l.m, err = newMatcher(f); err != nil {
		return l, err
	}
	if l.asOf, err = parseTime("as_of", asOf); err != nil {
		return l, err
	}
	if l.limit = limit; limit == 0 {
		l.limit = normal
	}
	if l.limit < 1 || l.limit > most {
		return l, refuse(CodeBadArgument, "`limit` must be 1 to %d, got %d.", most, limit)
	}
	return l, nil
}

// args are the listing as the log records it.
func (l listing) args() []audit.Arg {
	return append(l.m.args(), audit.Arg{Key: "as_of", Value: exact(l.asOf)}, audit.Arg{Key: "limit", Value: l.limit})
}

// fits refuses what a queue without times of death cannot answer.
func (l listing) fits(t *target) error {
	if !t.can.Dated && (!l.m.since.IsZero() || !l.m.until.IsZero()) {
		return refuse(CodeBadArgument, "%s keeps no time of death, so `filter.since` and `filter.until` cannot be answered. Leave them out.", t.q.Name)
	}
	return nil
}

// tally is one group while it is counted.
type tally struct {
	GroupInfo
	label       string
	first, last time.Time
	newest      backends.DeadLetter // the fields that a policy judges by
	job         string              // the newest one's
	sample      []sampled           // newest first
}

type sampled struct {
	id   string
	died time.Time
}

func (c *call) group(ctx context.Context, queue string, l listing, refresh bool) (*GroupResult, error) {
	t, err := c.open(ctx, queue)
	if err != nil {
		return nil, err
	}
	if err := l.fits(t); err != nil {
		return nil, err
	}
	look, err := c.looked(ctx, t, refresh)
	if err != nil {
		return nil, err
	}
	if l.asOf, err = c.asOf(ctx, t, l.asOf); err != nil {
		return nil, err
	}
	res := &GroupResult{Queue: queue, Look: look, AsOf: exact(l.asOf), Most: t.q.Approval.MaxMessages}
	groups, err := c.tally(ctx, t, l, res)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(groups, func(a, b *tally) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.last.Compare(a.last), cmp.Compare(a.Group, b.Group))
	})
	if res.OtherSum > 0 {
		res.Others++ // the groups that were not told apart
	}
	for _, g := range groups[min(l.limit, len(groups)):] {
		res.Others++
		res.OtherSum += g.Count
	}
	return res, c.groupAnswer(ctx, t, res, groups[:min(l.limit, len(groups))])
}

// asOf is the time that a listing is cut off at: the one asked for, and never
// later than the store's own clock, so that what dies from now on is not in it.
// A copy that lags does not show yet what died a moment ago; where nobody can
// tell since when, the newest death that it shows is the time.
func (c *call) asOf(ctx context.Context, t *target, asked time.Time) (time.Time, error) {
	if !t.can.Ordered {
		if !asked.IsZero() {
			return asked, refuse(CodeBadArgument, "%s keeps no time of death, so nothing can be cut off at a time. Leave `as_of` out; letters are named by `ids`.", t.q.Name)
		}
		return asked, nil
	}
	now, err := t.store.Now(ctx, t.q.Name)
	if err != nil {
		return asked, storeRefusal(t.q.Name, err)
	}
	lag, err := t.lag(ctx)
	if err != nil {
		return asked, err
	}
	last := now.Add(-max(0, lag))
	if lag < 0 {
		d, err := t.store.Depth(ctx, t.q.Name)
		if err != nil {
			return asked, storeRefusal(t.q.Name, err)
		}
		last = d.Newest
	}
	if asked.IsZero() || asked.After(last) {
		return last, nil
	}
	return asked, nil
}

func (c *call) tally(ctx context.Context, t *target, l listing, res *GroupResult) ([]*tally, error) {
	byID := map[string]*tally{}
	var groups []*tally
	samples := sampleIDs
	if l.detailed {
		samples = moreIDs
	}
	// A listing that ends at a time is read in order, up to there.
	q := backends.Query{Queue: t.q.Name, AsOf: l.asOf, Bodies: t.needsBody(), Fold: l.m.since.IsZero()}
	for d, err := range t.store.Scan(ctx, q) {
		if err != nil {
			return nil, storeRefusal(t.q.Name, err)
		}
		res.Scanned++
		v := t.glance(d, false)
		if l.m.f.ErrorClass != "" {
			v.class, v.shown = classify(c.pol, d)
		}
		if !l.m.match(d, &v) {
			if !q.Fold && l.m.past(d) {
				break
			}
			continue
		}
		g := byID[v.group]
		if g == nil {
			if len(groups) >= maxGroups {
				res.OtherSum++
				continue
			}
			g = &tally{label: v.label}
			g.Group = v.group
			byID[v.group] = g
			groups = append(groups, g)
		}
		g.add(d, v.job, samples)
	}
	return groups, nil
}

// add counts a letter. They come in any order; of equally old ones the first
// counts as the newest.
func (g *tally) add(d *backends.DeadLetter, job string, most int) {
	g.Count++
	died := d.Times.Dead
	if g.Count == 1 || died.After(g.newest.Times.Dead) {
		g.newest, g.job = *d, job
		// What is borrowed, or large and not needed to decide, is not kept.
		g.newest.Payload.Bytes, g.newest.Envelope, g.newest.Attributes, g.newest.Reason.Stack = nil, nil, nil, backends.Text{}
	}
	if !died.IsZero() && (g.first.IsZero() || died.Before(g.first)) {
		g.first = died
	}
	if died.After(g.last) {
		g.last = died
	}
	if len(g.sample) == most {
		if !died.After(g.sample[most-1].died) {
			return
		}
		g.sample = g.sample[:most-1]
	}
	at := len(g.sample)
	for at > 0 && died.After(g.sample[at-1].died) {
		at--
	}
	g.sample = slices.Insert(g.sample, at, sampled{d.ID, died})
}

func (c *call) groupAnswer(ctx context.Context, t *target, res *GroupResult, groups []*tally) error {
	ids := make([]string, len(groups))
	names := make([]string, len(groups))
	for i, g := range groups {
		ids[i], names[i] = g.newest.ID, g.Group
	}
	k, err := c.learn(ctx, t, ids, names...)
	if err != nil {
		return err
	}
	var text numbered
	res.Groups = make([]GroupInfo, len(groups))
	for i, g := range groups {
		g.N, g.First, g.Last = i+1, stamp(g.first), stamp(g.last)
		g.Class, g.Code = classify(c.pol, &g.newest)
		for _, s := range g.sample {
			g.Sample = append(g.Sample, showID(s.id))
		}
		d := t.q.Decide(k.facts(c, &g.newest, &seen{group: g.Group, job: g.job}, judged{}))
		g.Policy = fmt.Sprintf("%s by %s", d.Effect, d.Rule)
		label := g.label
		if g.job != "" {
			label = g.job + ": " + label
		}
		text.add(g.N, label)
		res.Groups[i] = g.GroupInfo
	}
	res.Text = text.fenced()
	res.Next = "Inspect one sample id of a group, then propose a patch or request a redrive for the group with this as_of and max_messages."
	if !t.can.Ordered {
		res.Next = "Inspect one sample id of a group, then name letters by `ids`: this queue keeps no time of death, so a group cannot be requested as a whole."
	}
	if len(groups) == 0 {
		res.Next = "No letter matches. Call list_queues for the other queues."
	}
	res.Next = res.Look.next(res.Next)
	return nil
}
