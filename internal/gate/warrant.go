package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/approval"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
	"github.com/redrive-mcp/redrive-mcp/internal/ledger"
	"github.com/redrive-mcp/redrive-mcp/internal/plan"
	"github.com/redrive-mcp/redrive-mcp/internal/redrive"
	"github.com/redrive-mcp/redrive-mcp/policy"
)

// warrant is what a run is checked against, again before every batch.
type warrant struct {
	c   *call
	row ledger.Plan
	doc *plan.Plan
	t   *target

	// mu guards what follows: a batch may be checked while the one before is
	// intended and recorded. It is not held while a store is asked.
	mu   sync.Mutex
	seen string // the policy and the freeze that the letters were last judged under
	need approval.Need
	// effect is what the policy now says to the letters that are still to go.
	effect policy.Effect
	orphan bool     // a direct redrive whose session has gone
	hidden [][]byte // values that the policy hides in the letters of the plan
	known  int      // their bytes
}

// paper reads the plan as it was frozen.
func (c *call) paper(row ledger.Plan) (*warrant, error) {
	data, err := c.st.log.GetObject(row.Digest)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, audit.ErrDamaged):
		return nil, voidError{"its frozen bytes are not beside the log"}
	case err != nil: // it can be mended, and the plan is what it was
		return nil, err
	}
	if string(data) != string(row.Bytes) || plan.Digest(row.Bytes) != row.Digest {
		return nil, voidError{"the ledger holds other bytes than those that were frozen"}
	}
	doc, err := plan.Decode(data)
	if err != nil || doc.ID != row.ID || doc.Queue != row.Queue || doc.Physical != row.Physical {
		return nil, voidError{"the ledger's row does not fit the frozen plan"}
	}
	return &warrant{c: c, row: row, doc: doc}, nil
}

// whole reports whether the ledger has every item of the plan: one that was
// taken out of it would be passed over in silence.
func (w *warrant) whole(ctx context.Context) error {
	n, err := w.c.st.ledger.Count(ctx, w.row.ID)
	if err != nil {
		return err
	}
	if n.All() != len(w.doc.Items) {
		return voidError{fmt.Sprintf("the ledger has %d of its %d items", n.All(), len(w.doc.Items))}
	}
	return nil
}

// warrant reads the plan as it was frozen and opens its queue.
func (c *call) warrant(ctx context.Context, row ledger.Plan) (*warrant, error) {
	w, err := c.paper(row)
	if err != nil {
		return nil, err
	}
	if c.pol.Queues[row.Queue] == nil {
		return nil, voidError{"the policy has no queue of that name any more"}
	}
	if err := w.whole(ctx); err != nil {
		return nil, err
	}
	w.t, err = c.open(ctx, row.Queue)
	return w, err
}

// bind compares an item of the ledger with the frozen plan, so that what was
// approved is what is sent.
func (w *warrant) bind(it ledger.Item) error {
	if it.N < 0 || it.N >= len(w.doc.Items) {
		return voidError{fmt.Sprintf("item %d is not in the frozen plan", it.N)}
	}
	frozen := w.doc.Items[it.N]
	if frozen.ID != showID(it.Ref.ID) || frozen.Mark != it.Ref.Mark || !frozen.Binds(it.Salt, it.Ref.Digest, it.Body) {
		return voidError{fmt.Sprintf("item %d is not what the frozen plan binds", it.N)}
	}
	return nil
}

func (w *warrant) commit(n int) string {
	if n < 0 || n >= len(w.doc.Items) {
		return ""
	}
	if after := w.doc.Items[n].After; after != "" {
		return after
	}
	return w.doc.Items[n].Before
}

// check says whether the run may go on now: nothing was stopped, cancelled or
// frozen, the time is not up, the connection leads where the plan says, and the
// stricter of the policy at planning and the policy now is satisfied.
func (w *warrant) check(ctx context.Context) error {
	now, err := w.holds(ctx)
	if err != nil {
		return err
	}
	pol, err := w.c.s.g.policyNow(ctx)
	if err != nil {
		return err
	}
	at, err := w.t.store.Target(ctx, w.row.Queue)
	if err != nil {
		return err
	}
	if at.String() != w.doc.Target {
		return elsewhere()
	}
	if err := w.c.alone(ctx, pol, w.row.Queue, at); err != nil {
		return voidError{reasonOf(err)}
	}
	return w.judge(ctx, pol, now)
}

func elsewhere() error {
	return voidError{"the connection leads to another target than the plan's"}
}

// there says whether the store is the one that the plan was sent to, whatever
// way leads to it now.
func (w *warrant) there(ctx context.Context) error {
	at, err := w.t.store.Target(ctx, w.row.Queue)
	if err == nil && at.Physical() != w.doc.Physical {
		err = elsewhere()
	}
	return err
}

// still says whether what check found holds, as far as that can be told without
// asking the store.
func (w *warrant) still(ctx context.Context) error {
	now, err := w.holds(ctx)
	if err != nil {
		return err
	}
	pol, err := w.c.s.g.policyNow(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if q := pol.Queues[w.row.Queue]; q == nil || judgedUnder(pol, q, now) != w.seen {
		return redrive.ErrAskAgain
	}
	return nil
}

// holds asks whether the run was called off or its time is up.
func (w *warrant) holds(ctx context.Context) (now time.Time, err error) {
	if w.orphan {
		return now, haltedError{why: "the session that asked for it has ended"}
	}
	if why := w.c.st.stopped(); why != "" {
		return now, haltedError{why: "redrives are stopped for everyone: " + why, code: CodeStopped}
	}
	state, why, err := w.c.st.ledger.State(ctx, w.row.ID)
	if err != nil {
		return now, err
	}
	if state == ledger.Stopping {
		return now, haltedError{why: "it was " + why}
	}
	if now, err = w.c.st.ledger.Now(); err != nil {
		return now, haltedError{why: err.Error()}
	}
	if now.After(w.doc.NotAfter) {
		return now, haltedError{why: "its time was up at " + stamp(w.doc.NotAfter)}
	}
	return now, nil
}

// judge asks the policy again when it, or a freeze, has changed since the last
// time, and weighs the approvals.
func (w *warrant) judge(ctx context.Context, pol *policy.Policy, now time.Time) error {
	q := pol.Queues[w.row.Queue]
	if q == nil {
		return voidError{"the policy has no queue of that name any more"}
	}
	if q.SourceKey != w.t.q.SourceKey {
		return voidError{"the policy's queue has another source now"}
	}
	if key := judgedUnder(pol, q, now); key != w.seen {
		effect, err := w.effectNow(ctx, pol, q)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.seen, w.effect = key, effect
		w.need = w.needNow(q)
		w.mu.Unlock()
	}
	switch {
	case w.effect == policy.Never:
		return voidError{"the policy now forbids it"}
	case w.effect == policy.Direct && w.doc.Mode == modeDirect:
		return nil
	}
	return w.approved(ctx, now)
}

// judgedUnder names the policy and the freezes that letters are judged under.
func judgedUnder(pol *policy.Policy, q *policy.Queue, now time.Time) string {
	names := pol.Digest
	for _, f := range pol.Freezes {
		if f.Holds(q.Name, now) {
			names += " " + f.Name
		}
	}
	return names
}

// effectNow is the strictest decision about the letters that are still to go.
// Letters that are gone are the executor's to find.
func (w *warrant) effectNow(ctx context.Context, pol *policy.Policy, q *policy.Queue) (policy.Effect, error) {
	c := *w.c
	c.pol = pol
	c.caller.Kind = w.doc.Requester.Kind
	t := &target{q: q, store: w.t.store, at: w.t.at, can: w.t.can}
	bodies := map[string][]byte{}
	var ids []string
	for it, err := range c.st.ledger.Items(ctx, w.row.ID, backends.Claimed) {
		if err != nil {
			return "", err
		}
		ids = append(ids, it.Ref.ID)
		bodies[it.Ref.ID] = it.Body
	}
	k, err := c.learn(ctx, t, ids, w.groups()...)
	if err != nil {
		return "", err
	}
	half := len(ids) / 2
	if t.can.LookingCosts { // two who look would take the letters from each other
		half = 0
	}
	return strictest(ctx, ids[:half], ids[half:], func(ctx context.Context, ids []string) (policy.Effect, error) {
		t := &target{q: q, store: t.store, at: t.at, can: t.can}
		effect := policy.Direct
		err := c.fetch(ctx, t, ids, func(d *backends.DeadLetter) error {
			v := t.look(pol, d, false)
			body := bodies[d.ID]
			w.hide(t, &v, body)
			dec := q.Decide(k.facts(&c, d, &v, judge(q, w.doc, d, body)))
			effect = policy.Stricter(effect, dec.Effect)
			return nil
		}, func(string) {})
		return effect, err
	})
}

// strictest judges some letters while others are on their way.
func strictest(ctx context.Context, some, others []string, judge func(context.Context, []string) (policy.Effect, error)) (policy.Effect, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var effects [2]policy.Effect
	var halves sync.WaitGroup
	for i, part := range [][]string{some, others} {
		halves.Go(func() {
			effect, err := judge(ctx, part)
			if err != nil {
				stop(err) // the other half need not be read
			}
			effects[i] = effect
		})
	}
	halves.Wait()
	return policy.Stricter(effects[0], effects[1]), context.Cause(ctx)
}

func (w *warrant) groups() []string { return (&choice{group: w.doc.Group}).groups() }

// hide keeps in mind what the policy hides in a letter, old and new: a store may
// repeat it in an error.
func (w *warrant) hide(t *target, v *seen, body []byte) {
	now, _ := redactor{Redaction: t.q.Redact}.body(body)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range []shownBody{v.body, now} {
		if b.withheld != "" {
			w.known = maxSought + 1
		}
		for _, h := range b.hidden {
			if w.known += len(h); w.known <= maxSought {
				w.hidden = append(w.hidden, slices.Clone(h))
			}
		}
	}
}

// clean makes a store's error fit for the log. Where there were more hidden
// values than can be looked for, or a body that hides them is not read, nothing
// of it is.
func (w *warrant) clean(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	values, err := newFinder(sought(w.hidden))
	if err != nil || w.known > maxSought {
		return hiddenText
	}
	return oneLine(redactor{w.t.q.Redact, values}.text(text), 300)
}

// needNow is the stricter of what was needed at planning and what the policy, if
// it still has the queue, asks now.
func (w *warrant) needNow(q *policy.Queue) approval.Need {
	then := approval.Need{People: peopleOf(w.doc.Need.From), Count: w.doc.Need.Count,
		Proof: w.doc.Need.Proof, Separation: w.doc.Need.Separation, ValidFor: w.doc.Need.ValidFor}
	if q == nil {
		return then
	}
	now := approval.Need{People: peopleOf(q.Approval.People()), From: q.Approval.Who(), Count: q.Approval.Count,
		Proof: q.Approval.Proof, Separation: q.Approval.Separation, ValidFor: q.Approval.ValidFor}
	if w.doc.Need.Effect == string(policy.Direct) {
		return now
	}
	then.From = now.From
	return approval.Stricter(then, now)
}

// peopleOf makes an empty list mean anybody.
func peopleOf(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return names
}
