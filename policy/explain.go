package policy

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Explain says in a few lines how a decision comes about: every rule with the
// part of its condition that failed, what would change the decision, and who
// can approve. It holds no text from a store.
func (q *Queue) Explain(f Facts) string {
	d := q.Decide(f)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, by %s\n", q.Name, d.Effect, d.Rule)
	fmt.Fprintf(&b, "because %s\n", d.Why)
	fmt.Fprintf(&b, "error: %s\n\n", subject{class: d.Class, shown: d.Code}.classText())
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range d.Checks {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", c.Rule, c.Effect, c.state(), c.Why)
	}
	fmt.Fprintf(table, "  (no rule)\t%s\t\twhat holds where no rule matches\n", q.Effect)
	table.Flush()
	b.WriteByte('\n')
	if d.Allowed != "" {
		fmt.Fprintf(&b, "nearest: %s\n", d.Allowed)
	}
	switch d.Effect {
	case EffectApproval:
		fmt.Fprintf(&b, "approval: %s\n", q.Approval)
	case Direct:
		fmt.Fprintf(&b, "limits: %s\n", d.Limits)
		fmt.Fprintf(&b, "over a limit it becomes a request for approval: %s\n", q.Approval)
	}
	return b.String()
}

func (c RuleCheck) state() string {
	switch {
	case c.Matched && !c.Known:
		return "taken to match"
	case c.Matched:
		return "matches"
	case !c.Known:
		return "cannot be known"
	}
	return "does not match"
}

// String is "1 of oncall (ana, luis), proof none, within 1h, then good for 30m, at
// most 1000 messages".
func (a Approval) String() string {
	text := a.Who()
	if people := strings.Join(a.people, ", "); people != "" && people != strings.Join(a.From, ", ") {
		text += " (" + people + ")"
	}
	text += fmt.Sprintf(", proof %s, within %s, then good for %s, at most %d messages", a.Proof, short(a.TTL), short(a.ValidFor), a.MaxMessages)
	if len(a.Require) > 0 {
		text += ", and the request must name a " + strings.Join(a.Require, " and a ")
	}
	return text
}

// String is "at most 20 a request, 60 an hour".
func (l Limits) String() string {
	var all []string
	add := func(n int, what string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(l.PerPlan, "a request")
	add(l.PerHour, "an hour")
	add(l.PerMessage, "times a message")
	if l.Cooldown > 0 {
		all = append(all, short(l.Cooldown)+" between two redrives of a message")
	}
	if len(all) == 0 {
		return "none"
	}
	return "at most " + strings.Join(all, ", ")
}
