package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// Check finds what loads and is probably not meant: warnings, by line. now
// tells which freezes are over. Warnings of loading are among them.
func Check(p *Policy, now time.Time) []Fault {
	l := &linter{policy: p, warnings: slices.Concat(p.Warnings, p.loose)}
	if len(p.Queues) == 0 {
		l.warn("", "no queue is named, so nothing can be done", "add one under queues")
	}
	l.errors()
	for i, f := range p.Freezes {
		if !f.To.After(now) {
			l.warn(fmt.Sprintf("freeze/%d", i), fmt.Sprintf("freeze %q is over", f.Name), "delete it, or set the next one")
		}
	}
	for _, name := range sorted(p.Queues) {
		l.queue(p.Queues[name])
	}
	if len(l.unproven) > 0 { // once: it is the same for all, and nothing in the file can change it yet
		l.warn(l.first, fmt.Sprintf("approvals for %s are not proven: an agent with a shell as the same user could give them", strings.Join(l.unproven, ", ")),
			"this build cannot verify signatures yet; keep agents away from the approver's user")
	}
	return sortFaults(l.warnings)
}

type linter struct {
	policy   *Policy
	warnings []Fault
	unproven []string // queues whose approvals nobody proves
	first    string   // where the first of them asks for none
}

func (l *linter) warn(path, why, hint string) {
	l.warnings = append(l.warnings, l.policy.faultAt(path, why, hint))
}

func (l *linter) errors() {
	all := l.policy.Errors
	texts := make([]string, len(all))
	for i, e := range all {
		path := fmt.Sprintf("errors/%d", i)
		texts[i] = spelled(e.Match)
		what := tooWide(e.Match)
		// A code that is a number as a whole is one that a store may give.
		if what == "" && onlyDigits(texts[i]) && e.Match.MatchString("order "+texts[i]+" is late") {
			what = "plain numbers"
		}
		if what != "" {
			l.warn(path, fmt.Sprintf("the pattern of code %q matches %s", e.Code, what), "it would class almost every error: name a word of the error text")
		}
		for j, other := range all[:i] {
			both := func(s string) bool { return s != "" && other.Match.MatchString(s) && e.Match.MatchString(s) }
			if other.Class != e.Class && (other.Match.String() == e.Match.String() || both(texts[i]) || both(texts[j])) {
				l.warn(path, fmt.Sprintf("the patterns of %q (%s) and %q (%s) match the same text", other.Code, other.Class, e.Code, e.Class),
					"permanent wins over transient, and transient over not_failed: narrow one of them")
			}
		}
	}
}

// tooWide says what ordinary text an expression matches that it should not.
func tooWide(re *regexp.Regexp) string {
	switch {
	case re.MatchString(""):
		return "the empty text"
	case re.MatchString("1") || re.MatchString("12345"):
		return "plain numbers"
	}
	return ""
}

// onlyDigits says whether a text that an expression spells out is a number: such
// numbers stand in ids and amounts of every other error, too.
func onlyDigits(spelled string) bool {
	return spelled != "" && strings.Trim(spelled, "0123456789 \t") == ""
}

// queue looks at what one queue grants.
func (l *linter) queue(q *Queue) {
	path := "queues/" + q.Name
	for i, r := range q.Rules {
		at := fmt.Sprintf("%s/rules/%d", path, i)
		l.reach(at, r)
		if r.Do == Direct && r.When.Patched != nil && *r.When.Patched && !q.Patch.Direct {
			l.warn(at+"/do", fmt.Sprintf("rule %q redrives nothing directly: a patched message of %q needs a person", r.Name, q.Name), `write "do: approval", or set patch.direct`)
		}
	}
	direct, approval := q.grants(Direct), q.grants(EffectApproval)
	if direct {
		l.direct(q, path)
	} else if q.Limits != (Limits{}) {
		l.warn(path+"/limits", fmt.Sprintf("nothing of %q is redriven directly, so its limits never count", q.Name), "limits hold for direct redrives only")
	}
	if direct || approval {
		l.approval(q, path)
	}
	l.patch(q, path)
	for i, re := range q.Redact.Text {
		if what := tooWide(re); what != "" {
			l.warn(fmt.Sprintf("%s/redact/text/%d", path, i), fmt.Sprintf("an expression of %q matches %s", q.Name, what), "it hides almost everything: ask for more characters, as in \\b\\d{13,19}\\b")
		}
	}
}

func (q *Queue) grants(e Effect) bool {
	return q.Effect == e || slices.ContainsFunc(q.Rules, func(r *Rule) bool { return r.Do == e })
}

// reach warns of a rule that needs a class or a code which no pattern gives.
func (l *linter) reach(path string, r *Rule) {
	gives := func(f func(ErrorPattern) bool) bool { return slices.ContainsFunc(l.policy.Errors, f) }
	for _, class := range r.When.Error {
		if class != unknown && !gives(func(e ErrorPattern) bool { return e.Class == class }) {
			l.warn(path+"/when/error", fmt.Sprintf("no pattern gives an error the class %s", class), fmt.Sprintf("rule %q matches only where the store itself says so", r.Name))
		}
	}
	for _, code := range r.When.Code {
		if !gives(func(e ErrorPattern) bool { return e.Code == code }) {
			l.warn(path+"/when/code", fmt.Sprintf("no pattern gives an error the code %q", code), fmt.Sprintf("rule %q matches only where it is the store's own code", r.Name))
		}
	}
}

func (l *linter) direct(q *Queue, path string) {
	if q.Send.Rate == 0 {
		l.warn(path+"/send", fmt.Sprintf("%q is redriven directly without a rate", q.Name), `add "send: {rate: 5/s}"`)
	}
	if q.Limits.PerPlan == 0 && (q.Effect == Direct || slices.ContainsFunc(q.Rules, func(r *Rule) bool { return r.Do == Direct && r.Limits.PerPlan == 0 })) {
		l.warn(path+"/limits", fmt.Sprintf("a direct redrive of %q has no limit per request", q.Name), `add "limits: {per_plan: N}"`)
	}
	if q.Limits.PerMessage == 0 && q.Limits.Cooldown == 0 && q.Effect == Direct {
		l.warn(path+"/limits", fmt.Sprintf("one message of %q may be redriven directly again and again", q.Name), `add "per_message" or "cooldown" to its limits`)
	}
}

func (l *linter) approval(q *Queue, path string) {
	a := q.Approval
	switch {
	case len(a.From) == 0:
		l.warn(path+"/approval", fmt.Sprintf("anyone at the command line can approve for %q", q.Name), `name people with "from"`)
	case a.Proof == "none":
		if l.unproven = append(l.unproven, q.Name); l.first == "" {
			l.first = path + "/approval/proof"
		}
	}
	if a.Separation == "person" && len(a.From) > 0 && a.Count >= len(a.people) {
		l.warn(path+"/approval/count", fmt.Sprintf("a request of one of the %d people of %q can never be approved", len(a.people), q.Name), "with separation: person the requester does not count")
	}
}

func (l *linter) patch(q *Queue, path string) {
	for i, allow := range q.Patch.Allow {
		at := fmt.Sprintf("%s/patch/allow/%d", path, i)
		if allow.String() == "" {
			l.warn(at, fmt.Sprintf("a patch of %q may change the whole document", q.Name), "name the paths that may change")
			continue
		}
		for _, hidden := range q.Redact.Paths {
			if touch(allow, hidden) {
				l.warn(at, fmt.Sprintf("%s may be patched and %s is hidden", allow, hidden), "a hidden value can be set only as a whole, and its old value is never shown")
			}
		}
	}
	switch idle := q.Patch.Schema != nil || q.Patch.Direct; {
	case q.patchable() && q.Patch.Schema == nil:
		l.warn(path+"/patch", fmt.Sprintf("patched bodies of %q are not checked", q.Name), `name a JSON Schema with "schema"`)
	case !q.patchable() && idle:
		l.warn(path+"/patch", fmt.Sprintf("nothing of %q may be patched, so the rest of its patch section never counts", q.Name), `name the paths that may change with "allow"`)
	}
}

// touch says whether one pattern names a place at, above or below a place of
// the other. Every token of one stands for itself; * agrees with all.
func touch(a, b rawjson.Pattern) bool {
	x, y := strings.Split(a.String(), "/"), strings.Split(b.String(), "/")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] && x[i] != "*" && y[i] != "*" {
			return false
		}
	}
	return true
}
