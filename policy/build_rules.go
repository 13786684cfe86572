package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func (b *builder) rule(q *Queue, at string, r *Rule) {
	r.Line = b.where(at).line
	b.givenName(at+"/name", "a rule", r.Name)
	if slices.ContainsFunc(q.Rules, func(other *Rule) bool { return other.Name == r.Name }) && b.given(at+"/name") {
		b.fault(at+"/name", fmt.Sprintf("two rules of %q are called %q", q.Name, r.Name), "a decision names its rule: give each its own name")
	}
	if b.has(at+"/limits") && r.Do != Direct && r.Do != "" {
		b.fault(at+"/limits", fmt.Sprintf("limits of rule %q would never count", r.Name), "limits hold for direct redrives only")
	}
	b.when(at+"/when", r.When)
	if r.When.Patched != nil && *r.When.Patched && !q.patchable() && !b.bad["queues/"+q.Name+"/patch/allow"] {
		b.fault(at+"/when/patched", fmt.Sprintf("rule %q can never match: nothing of %q may be patched", r.Name, q.Name), "name the paths that may change under patch.allow, or delete the rule")
	}
	q.Rules = append(q.Rules, r)
}

// when refuses conditions that say nothing or that nothing can meet.
func (b *builder) when(at string, w When) {
	if b.given(at) && !slices.ContainsFunc(fieldsOf(reflect.TypeFor[When]()), func(f reflect.StructField) bool { return b.has(join(at, f.Name)) }) {
		b.fault(at, named(at)+" names no condition", "leave the key out for a rule that takes every message")
	}
	for _, class := range w.Error {
		if known := []string{permanent, transient, notFailed, unknown}; !slices.Contains(known, class) {
			b.fault(at+"/error", fmt.Sprintf("%s is no class of errors", quote(class)), b.suggest(class, known))
		}
	}
	for _, job := range w.Job {
		if strings.Contains(strings.TrimSuffix(job, "*"), "*") {
			b.fault(at+"/job", fmt.Sprintf("the job name %s has a * that is not at its end", quote(job)), "only an ending can be left open, as in email-*")
		}
	}
	b.bounds(at+"/replays", w.Replays)
	b.bounds(at+"/attempts", w.Attempts)
	switch age := w.Age; {
	case age == nil:
	case b.missing(at+"/age/min") && b.missing(at+"/age/max"):
		b.fault(at+"/age", "age names no bound", "give it min, max or both")
	case age.Max > 0 && age.Min > age.Max:
		b.fault(at+"/age", "min is longer than max: no message can match", "exchange them")
	}
	if w.Quiet != nil && b.missing(at+"/quiet/min") {
		b.fault(at+"/quiet", "quiet names no bound", "give it min")
	}
}

func (b *builder) bounds(at string, r *Range) {
	switch {
	case r == nil:
	case b.missing(at+"/min") && b.missing(at+"/max"):
		b.fault(at, last(at)+" names no bound", "give it min, max or both")
	case r.Min != nil && r.Max != nil && *r.Min > *r.Max:
		b.fault(at, "min is more than max: no message can match", "exchange them")
	}
}

// shadows refuses a rule that can never decide anything: a never rule or an
// earlier rule takes every message that it takes.
func (b *builder) shadows(q *Queue, at string) {
	for path := range b.bad {
		if strings.HasPrefix(path, at+"/rules/") {
			return // half a condition covers too much
		}
	}
	for i, r := range q.Rules {
		for j, other := range q.Rules {
			before := j < i && (r.Do != Never || other.Do == Never)
			wins := i != j && (before || other.Do == Never && r.Do != Never)
			if wins && other.When.covers(&r.When) {
				b.fault(fmt.Sprintf("%s/rules/%d", at, i), fmt.Sprintf("rule %q can never match: rule %q on line %d takes all that it takes", r.Name, other.Name, other.Line),
					fmt.Sprintf("narrow %q, or delete %q", other.Name, r.Name))
				break
			}
		}
	}
}

// covers says whether w holds wherever v does.
func (w *When) covers(v *When) bool {
	within := func(wide, narrow []string) bool {
		return wide == nil || narrow != nil && !slices.ContainsFunc(narrow, func(s string) bool { return !slices.Contains(wide, s) })
	}
	return within(w.Error, v.Error) && within(w.Code, v.Code) && coversJobs(w.Job, v.Job) &&
		w.Replays.covers(v.Replays) && w.Attempts.covers(v.Attempts) && w.Age.covers(v.Age) &&
		(w.Quiet == nil || v.Quiet != nil && w.Quiet.Min <= v.Quiet.Min) &&
		(w.Patched == nil || v.Patched != nil && *w.Patched == *v.Patched)
}

func coversJobs(wide, narrow []string) bool {
	if wide == nil {
		return true
	}
	for _, n := range narrow {
		if !slices.ContainsFunc(wide, func(w string) bool {
			return n == w || globs(w, strings.TrimSuffix(n, "*")) && strings.HasSuffix(w, "*")
		}) {
			return false
		}
	}
	return narrow != nil
}

func (r *Range) covers(s *Range) bool {
	if r == nil || s == nil {
		return r == nil
	}
	return (r.Min == nil || s.Min != nil && *s.Min >= *r.Min || *r.Min == 0) &&
		(r.Max == nil || s.Max != nil && *s.Max <= *r.Max)
}

func (a *Span) covers(s *Span) bool {
	if a == nil || s == nil {
		return a == nil
	}
	return s.Min >= a.Min && (a.Max == 0 || s.Max > 0 && s.Max <= a.Max)
}
