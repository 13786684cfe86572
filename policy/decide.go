package policy

import (
	"fmt"
	"time"
)

// Facts are what is known about one message. Message, Code and Job are raw text
// of a store: they are matched and never repeated.
type Facts struct {
	Now                time.Time
	ByPerson           bool // a person's own request; the same rules hold
	Message, Code, Job string
	Verdict            string // the store's own: permanent, transient, not_failed, unknown
	Attempts           int    // -1: not known
	Replays            int
	ReplaysKnown       bool
	Died               time.Time
	LastArrival        time.Time // newest death in its error group
	LastArrivalKnown   bool
	Patched            bool   // a JSON value that is not hidden differs from the original
	ListOnly           string // why the store can never send it, in a sentence; empty: it can
	SetsHidden         bool   // a value that redact hides is set; whether it differs is not known
}

// Decision is what the policy says about one message.
type Decision struct {
	Effect      Effect
	Class, Code string      // of the error, as people are shown them
	Rule        string      // "poison of orders" or "orders: approval"
	Why         string      // the condition that decided, in words
	Allowed     string      // what would be allowed instead, as one or two sentences
	Limits      Limits      // that a direct redrive must keep
	Checks      []RuleCheck // every rule in the order of the file
}

// RuleCheck is what became of one rule.
type RuleCheck struct {
	Rule    string
	Effect  Effect
	Matched bool   // its condition holds, or could hold and the rule is a refusal
	Known   bool   // false: a fact was missing
	Why     string // all of the condition, or the first part that fails

	rule *Rule
}

// subject is a message with its error classified once.
type subject struct {
	Facts
	class, shown string
}

func (s subject) classText() string {
	if s.shown == "" {
		return s.class
	}
	return fmt.Sprintf("%s (%s)", s.class, s.shown)
}

// Decide decides one message. It never fails: what is not known makes the
// decision stricter.
func (q *Queue) Decide(f Facts) Decision {
	s := subject{Facts: f}
	s.class, s.shown = q.policy.Classify(f.Verdict, f.Code, f.Message)
	d := q.decide(s)
	d.Allowed = q.allowed(s, d)
	return d
}

func (q *Queue) decide(s subject) Decision {
	d := Decision{Class: s.class, Code: s.shown, Checks: q.check(s)}
	if s.ListOnly != "" {
		d.Effect, d.Rule, d.Why = Never, q.Name+": list only", s.ListOnly
		return d
	}
	// What would be direct without a patch, or but for a fact that nobody knows, is
	// held by a freeze even where these alone would leave it to a person.
	mayBeDirect := q.choose(&d)
	if d.Effect == Direct && (s.Patched || s.SetsHidden) && !q.Patch.Direct {
		d.Effect, d.Rule, d.Why = EffectApproval, q.Name+": patch.direct", "a patched message is never redriven directly here"
	}
	if mayBeDirect {
		q.freeze(&d, s.Now)
	}
	if d.Effect != Direct {
		d.Limits = Limits{}
	}
	return d
}

func (q *Queue) check(s subject) []RuleCheck {
	checks := make([]RuleCheck, len(q.Rules))
	for i, r := range q.Rules {
		o := r.When.hold(s)
		checks[i] = RuleCheck{
			Rule: r.Name, Effect: r.Do, Why: o.why, rule: r,
			Known:   o.truth != maybe,
			Matched: o.truth == yes || o.truth == maybe && r.Do == Never,
		}
	}
	return checks
}

// choose applies: any matching never wins, then the first match, then the
// queue's own effect. A rule that may have matched and would have been stricter
// than what was found is followed, and its limits are kept. It reports whether
// the message is direct, or could be if more were known.
func (q *Queue) choose(d *Decision) (mayBeDirect bool) {
	d.Effect, d.Rule, d.Why, d.Limits = q.Effect, q.Name+": "+string(q.Effect), q.noMatch(), q.Limits
	for _, c := range d.Checks {
		if c.Matched && c.Effect == Never {
			q.follow(d, c)
			return false
		}
	}
	var doubt *RuleCheck
	for _, c := range d.Checks {
		if c.Matched {
			q.follow(d, c)
			break
		}
		if !c.Known {
			d.Limits = Tighter(d.Limits, c.rule.Limits)
			mayBeDirect = mayBeDirect || c.Effect == Direct
			if c.Effect == EffectApproval && doubt == nil {
				doubt = &c
			}
		}
	}
	mayBeDirect = mayBeDirect || d.Effect == Direct
	if doubt != nil && d.Effect == Direct {
		q.follow(d, *doubt)
	}
	return mayBeDirect
}

func (q *Queue) noMatch() string {
	if len(q.Rules) == 0 {
		return "the queue has no rules"
	}
	return "no rule matched"
}

func (q *Queue) follow(d *Decision, c RuleCheck) {
	d.Effect, d.Rule, d.Why = c.Effect, c.Rule+" of "+q.Name, c.Why
	if !c.Known {
		d.Why += ", and what is not known counts against it"
	}
	d.Limits = Tighter(d.Limits, c.rule.Limits)
}

// freeze makes a direct decision stricter while a freeze lasts.
func (q *Queue) freeze(d *Decision, now time.Time) {
	for _, f := range q.policy.Freezes {
		if f.Holds(q.Name, now) && Stricter(f.Becomes, d.Effect) != d.Effect {
			d.Effect, d.Rule = f.Becomes, "freeze "+f.Name
			d.Why = "direct redrives are frozen until " + f.To.Format("2006-01-02 15:04 MST")
		}
	}
}
