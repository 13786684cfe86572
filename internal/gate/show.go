package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// maxDiffs is how many letters' diffs an approver is shown.
const maxDiffs = 3

func (s *session) show(ctx context.Context, id string, reveal bool) (*ShowResult, error) {
	c, err := s.begin(ctx, "show", "", audit.Arg{Key: "request", Value: words(id)}, audit.Arg{Key: "reveal", Value: reveal})
	if err != nil {
		return nil, err
	}
	res, err := c.show(ctx, id, reveal)
	if err = c.done(ctx, err); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *call) show(ctx context.Context, id string, reveal bool) (*ShowResult, error) {
	row, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	doc, err := plan.Decode(row.Bytes)
	if err != nil {
		return nil, err
	}
	res := &ShowResult{}
	if res.Request, err = c.result(ctx, row, true); err != nil {
		return nil, err
	}
	if res.Statement, err = c.statement(doc, row.Digest, plan.Approve); err != nil {
		return nil, err
	}
	if err := c.showDecisions(ctx, row, res); err != nil {
		return nil, err
	}
	q := c.pol.Queues[row.Queue]
	if q == nil {
		return res, nil
	}
	if reveal && q.Redact.People != "shown" {
		return nil, refuse(CodePolicy, "The policy shows people of %s no hidden values (redact.people).", row.Queue)
	}
	// A store that does not answer must not keep a person from reading the plan.
	if t, err := c.open(ctx, row.Queue); err == nil {
		c.showLetters(ctx, t, row, doc, res, reveal)
	}
	return res, nil
}

func (c *call) showDecisions(ctx context.Context, row ledger.Plan, res *ShowResult) error {
	ds, err := c.st.ledger.Decisions(ctx, row.ID)
	for _, d := range ds {
		res.Decisions = append(res.Decisions, strings.TrimSpace(fmt.Sprintf("%s: %s at %s, proof %s %s", d.Person, decisionWord(d.Yes), stamp(d.At), d.Proof, quoteIf(d.Reason))))
	}
	return err
}

func quoteIf(s string) string {
	if s == "" {
		return ""
	}
	return quote(s)
}

// showLetters adds the letters themselves, as they are now.
func (c *call) showLetters(ctx context.Context, t *target, row ledger.Plan, doc *plan.Plan, res *ShowResult, reveal bool) {
	items := map[string]ledger.Item{}
	var ids []string
	for it, err := range c.st.ledger.Items(ctx, row.ID) {
		if err != nil {
			return
		}
		if len(ids) == maxItemsShown {
			res.More = len(doc.Items) - len(ids)
			break
		}
		items[it.Ref.ID] = it
		ids = append(ids, it.Ref.ID)
	}
	replays, err := c.st.ledger.Replays(ctx, t.at.Letters(), ids)
	if err != nil {
		return
	}
	found := map[string]ShownLetter{}
	var diff strings.Builder
	diffs := 0
	_ = c.fetch(ctx, t, ids, func(d *backends.DeadLetter) error {
		v := t.look(c.pol, d, reveal)
		it := items[d.ID]
		found[d.ID] = ShownLetter{ID: showID(d.ID), Outcome: outcomeWord(it.State), Died: stamp(d.Times.Dead), Error: backends.Hostile(v.message), Replays: replays[d.ID].Count}
		if it.Body != nil && diffs < maxDiffs {
			diffs++
			diff.WriteString(c.planDiff(ctx, t.q, row.ID, doc, d, it, reveal))
		}
		return nil
	}, func(string) {})
	for _, id := range ids {
		l, ok := found[id]
		if !ok {
			l = ShownLetter{ID: showID(id), Outcome: outcomeWord(items[id].State), Error: backends.Hostile("(not among the dead letters now)")}
		}
		if l.Replays > 0 {
			res.Earlier++
		}
		res.Letters = append(res.Letters, l)
	}
	if more := patchedItems(doc) - diffs; diffs > 0 && more > 0 {
		fmt.Fprintf(&diff, "(and of %d more, each changed by the same patch)\n", more)
	}
	res.Diff = strings.TrimSuffix(diff.String(), "\n")
	res.Fix = c.fixText(ctx, t, doc)
}

func patchedItems(doc *plan.Plan) (n int) {
	for _, it := range doc.Items {
		if it.After != "" {
			n++
		}
	}
	return n
}

// planDiff shows what an item changes, hiding what the policy hides. The body
// before is the one that was kept: the store's may be changed already.
func (c *call) planDiff(ctx context.Context, q *policy.Queue, id string, doc *plan.Plan, d *backends.DeadLetter, it ledger.Item, reveal bool) string {
	before, err := c.st.ledger.Original(ctx, id, it.N)
	if err != nil || before == nil {
		before = d.Payload.Bytes
	}
	shown := *q
	if reveal {
		shown.Redact = policy.Redaction{}
	}
	old, r := redactor{Redaction: shown.Redact}.body(before)
	if old.withheld != "" {
		return fmt.Sprintf("letter %s: its payload is withheld: %s\n", showID(d.ID), old.withheld)
	}
	out := changed{before: before, after: it.Body}
	if doc.Body {
		out.paths = []string{""}
		return wholeDiffs(r).text(d.ID, out)
	}
	diff, err := rawjson.Diff(before, it.Body)
	if err != nil {
		return ""
	}
	for _, ch := range diff {
		p := ch.Pointer.String()
		if hidden, ok := hiddenRoot(&shown, ch.Pointer); !ok {
			out.paths = append(out.paths, p)
		} else if !slices.Contains(out.hidden, hidden) {
			out.hidden = append(out.hidden, hidden)
		}
	}
	return wholeDiffs(r).text(d.ID, out)
}

// hiddenRoot is the place that the policy hides at p or above it: a difference
// inside of what stood there would show its structure.
func hiddenRoot(q *policy.Queue, p rawjson.Pointer) (root string, ok bool) {
	for ; underHidden(q, p); p = p.Parent() {
		root, ok = p.String(), true
		if p.IsRoot() {
			break
		}
	}
	return root, ok
}

// fixText says whether failures stopped after the fix.
func (c *call) fixText(ctx context.Context, t *target, doc *plan.Plan) string {
	if doc.Fix == nil {
		return ""
	}
	text := "fix " + quote(doc.Fix.Ref)
	at, err := time.Parse(time.RFC3339, doc.Fix.At)
	if err != nil || doc.Group == "" {
		return text
	}
	text += " at " + stamp(at)
	lag, err := t.lag(ctx)
	if err != nil {
		return text
	}
	since := "no letter"
	n := 0
	for d, err := range t.store.Scan(ctx, backends.Query{Queue: t.q.Name, Bodies: t.needsBody()}) {
		if err != nil {
			return text
		}
		if d.Times.Dead.Before(at) {
			break
		}
		if v := t.look(c.pol, d, false); v.group == doc.Group {
			n++
			since = fmt.Sprintf("%d letters", n)
		}
	}
	return text + ": " + since + " of this group died since" + behind(lag)
}

// behind says that a copy of the letters does not show all that died.
func behind(lag time.Duration) string {
	switch {
	case lag < 0:
		return ", as far as the copy shows that is read; how far it is behind is not known"
	case lag > maxLag:
		return ", as far as the copy shows that is read; it is " + lag.Round(time.Second).String() + " behind"
	}
	return ""
}

func (s *session) explain(ctx context.Context, queue, id string, patched bool) (string, error) {
	c, err := s.begin(ctx, "explain", queue, audit.Arg{Key: "id", Value: quote(id)})
	if err != nil {
		return "", err
	}
	text, err := c.explain(ctx, queue, id, patched)
	return text, c.done(ctx, err)
}

func (c *call) explain(ctx context.Context, queue, id string, patched bool) (text string, err error) {
	raw, err := checkID("id", id)
	if err != nil {
		return "", err
	}
	t, err := c.open(ctx, queue)
	if err != nil {
		return "", err
	}
	err = c.fetch(ctx, t, []string{raw}, func(d *backends.DeadLetter) error {
		v := t.look(c.pol, d, false)
		k, err := c.learn(ctx, t, []string{raw}, v.group)
		if err == nil {
			text = t.q.Explain(k.facts(c, d, &v, judged{mends: patched}))
		}
		return err
	}, func(string) {})
	if err == nil && text == "" {
		err = noLetter(queue, raw)
	}
	return text, err
}
