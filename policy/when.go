package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// When is the condition of a rule: every part that is set must hold.
type When struct {
	Error    oneOrMore `yaml:"error" unique:"true" doc:"class of the error: permanent, transient, not_failed, unknown; one or a list"`
	Code     oneOrMore `yaml:"code" unique:"true" doc:"code from errors, or the store's own; one or a list"`
	Job      oneOrMore `yaml:"job" unique:"true" doc:"job name, a * at the end stands for any ending; one or a list"`
	Replays  *Range    `yaml:"replays" doc:"how often it was redriven before"`
	Attempts *Range    `yaml:"attempts" doc:"how often the worker tried it"`
	Age      *Span     `yaml:"age" doc:"time since it died"`
	Quiet    *Quiet    `yaml:"quiet" doc:"no new arrival in its error group for that long"`
	Patched  *bool     `yaml:"patched" doc:"whether a JSON value differs from the original"`
}

// Range bounds a count; both ends are in it.
type Range struct {
	Min *int `yaml:"min" min:"0" doc:"at least"`
	Max *int `yaml:"max" min:"0" doc:"at most"`
}

// Span bounds a duration; both ends are in it, 0 is no bound.
type Span struct {
	Min time.Duration `yaml:"min" doc:"at least"`
	Max time.Duration `yaml:"max" doc:"at most"`
}

// Quiet asks that an outage is over.
type Quiet struct {
	Min time.Duration `yaml:"min" doc:"at least"`
}

// truth has a third value: a fact that nobody knows.
type truth int

const (
	no truth = iota
	maybe
	yes
)

// outcome is what became of one part of a condition, in words for people. The
// words quote names from the policy, never text from a store.
type outcome struct {
	truth truth
	why   string
}

// hold judges a whole condition. The text is that of every part if all hold,
// else that of the first part that fails, else of the first that is not known.
func (w *When) hold(s subject) outcome {
	parts := w.parts(s)
	if len(parts) == 0 {
		return outcome{yes, "the rule takes every message"}
	}
	for _, t := range []truth{no, maybe} {
		if i := slices.IndexFunc(parts, func(o outcome) bool { return o.truth == t }); i >= 0 {
			return parts[i]
		}
	}
	whys := make([]string, len(parts))
	for i, o := range parts {
		whys[i] = o.why
	}
	return outcome{yes, strings.Join(whys, " and ")}
}

func (w *When) parts(s subject) []outcome {
	var all []outcome
	if w.Error != nil {
		all = append(all, w.error(s))
	}
	if w.Code != nil {
		all = append(all, w.code(s))
	}
	if w.Job != nil {
		all = append(all, w.job(s))
	}
	if w.Replays != nil {
		all = append(all, w.replays(s))
	}
	if w.Attempts != nil {
		all = append(all, w.attempts(s))
	}
	if w.Age != nil {
		all = append(all, w.age(s))
	}
	if w.Quiet != nil {
		all = append(all, w.quiet(s))
	}
	if w.Patched != nil {
		all = append(all, w.patched(s))
	}
	return all
}

func (w *When) error(s subject) outcome {
	if slices.Contains(w.Error, s.class) {
		return outcome{yes, "the error is " + s.classText()}
	}
	return outcome{no, fmt.Sprintf("the error is %s, and the rule takes %s", s.classText(), strings.Join(w.Error, " or "))}
}

func (w *When) code(s subject) outcome {
	for _, code := range w.Code {
		if code == s.shown || code == s.Code {
			return outcome{yes, fmt.Sprintf("the error code is %q", code)}
		}
	}
	return outcome{no, "the error code is not " + quoted(w.Code)}
}

func (w *When) job(s subject) outcome {
	if s.Job == "" {
		return outcome{maybe, "the job name is not known"}
	}
	for _, pattern := range w.Job {
		if globs(pattern, s.Job) {
			return outcome{yes, fmt.Sprintf("the job is %q", pattern)}
		}
	}
	return outcome{no, "the job is not " + quoted(w.Job)}
}

func (w *When) replays(s subject) outcome {
	if !s.ReplaysKnown || s.Replays < 0 {
		return outcome{maybe, "how often it was redriven before is not known"}
	}
	return w.Replays.judge(s.Replays, "it was redriven", "before")
}

func (w *When) attempts(s subject) outcome {
	if s.Attempts < 0 {
		return outcome{maybe, "how often it was tried is not known"}
	}
	return w.Attempts.judge(s.Attempts, "it was tried", "")
}

func (w *When) age(s subject) outcome {
	if s.Died.IsZero() || s.Now.IsZero() {
		return outcome{maybe, "when it died is not known"}
	}
	// A store's clock may run ahead of ours; a message is never younger than now.
	age := max(0, s.Now.Sub(s.Died))
	why := fmt.Sprintf("it died %s ago", short(age.Truncate(time.Second)))
	if age < w.Age.Min || w.Age.Max > 0 && age > w.Age.Max {
		return outcome{no, fmt.Sprintf("%s, and the rule takes %s", why, w.Age)}
	}
	return outcome{yes, why}
}

func (w *When) quiet(s subject) outcome {
	if !s.LastArrivalKnown || s.LastArrival.IsZero() || s.Now.IsZero() {
		return outcome{maybe, "when its error group last grew is not known"}
	}
	quiet := s.Now.Sub(s.LastArrival)
	why := fmt.Sprintf("its error group last grew %s ago", short(max(0, quiet).Truncate(time.Second)))
	if quiet < w.Quiet.Min {
		return outcome{no, fmt.Sprintf("%s, and the rule waits for %s", why, short(w.Quiet.Min))}
	}
	return outcome{yes, why}
}

func (w *When) patched(s subject) outcome {
	words := map[bool]string{true: "patched", false: "not patched"}
	if s.SetsHidden && !s.Patched {
		// Setting a hidden value mends nothing that anybody could see, and is not
		// nothing either: it loosens no rule.
		return outcome{maybe, "only hidden values are set, so whether the message is patched is not known"}
	}
	if s.Patched != *w.Patched {
		return outcome{no, fmt.Sprintf("the message is %s, and the rule takes one that is %s", words[s.Patched], words[*w.Patched])}
	}
	return outcome{yes, "the message is " + words[s.Patched]}
}

func (r *Range) judge(n int, before, after string) outcome {
	why := fmt.Sprintf("%s %d times", before, n)
	if n == 1 {
		why = before + " once"
	}
	if after != "" {
		why += " " + after
	}
	if r.Min != nil && n < *r.Min || r.Max != nil && n > *r.Max {
		return outcome{no, fmt.Sprintf("%s, and the rule takes %s", why, r)}
	}
	return outcome{yes, why}
}

func (r *Range) String() string {
	switch {
	case r.Min == nil:
		return fmt.Sprintf("at most %d", *r.Max)
	case r.Max == nil:
		return fmt.Sprintf("at least %d", *r.Min)
	}
	return fmt.Sprintf("%d to %d", *r.Min, *r.Max)
}

func (a *Span) String() string {
	switch {
	case a.Min == 0:
		return "at most " + short(a.Max)
	case a.Max == 0:
		return "at least " + short(a.Min)
	}
	return short(a.Min) + " to " + short(a.Max)
}

func globs(pattern, s string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(s, prefix)
	}
	return pattern == s
}

func quoted(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(all, " or ")
}
