package policy

import (
	"slices"
	"strings"
	"time"
)

// allowed says what could be done instead: it asks the same rules again about
// the same message patched, or later.
func (q *Queue) allowed(s subject, d Decision) string {
	if d.Effect == Direct {
		return ""
	}
	ways := q.ways(s, d)
	if d.Effect == EffectApproval {
		text := "A person decides: " + q.Approval.Who() + "."
		if len(ways) > 0 {
			text += " Without a person: " + strings.Join(ways, ", or ") + "."
		}
		return text
	}
	return refused(ways, s.ByPerson)
}

func refused(ways []string, byPerson bool) string {
	if !byPerson {
		ways = append(ways, "leave it for a person")
	}
	if len(ways) == 0 {
		return "Nothing is allowed for it as it is."
	}
	text := strings.Join(ways, ", or ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// ways are the changes that make the decision less strict.
func (q *Queue) ways(s subject, d Decision) []string {
	var ways []string
	looser := func(s subject) bool {
		other := q.decide(s).Effect
		return Stricter(other, d.Effect) != other
	}
	if q.patchable() && !s.Patched {
		patched := s
		patched.Patched = true
		if looser(patched) {
			ways = append(ways, "propose a patch"+q.patchPaths())
		}
	}
	for _, at := range q.moments(s) {
		waited := s
		waited.Now = at
		if looser(waited) {
			ways = append(ways, "ask again after "+at.UTC().Format("2006-01-02 15:04:05 MST"))
			break
		}
	}
	return ways
}

func (q *Queue) patchable() bool { return len(q.Patch.Allow) > 0 || q.Patch.Replace }

func (q *Queue) patchPaths() string {
	const most = 4
	var paths []string
	for _, p := range q.Patch.Allow {
		if text := p.String(); text != "" {
			paths = append(paths, text)
		}
	}
	switch {
	case len(paths) == 0:
		return ""
	case len(paths) > most:
		return " for " + strings.Join(paths[:most], ", ") + " or another allowed path"
	case len(paths) == 1:
		return " for " + paths[0]
	}
	end := len(paths) - 1
	return " for " + strings.Join(paths[:end], ", ") + " or " + paths[end]
}

// moments are the times at which waiting alone can change the decision, soonest
// first.
func (q *Queue) moments(s subject) []time.Time {
	if s.Now.IsZero() {
		return nil
	}
	var all []time.Time
	for _, r := range q.Rules {
		if r.When.Quiet != nil && s.LastArrivalKnown {
			all = append(all, s.LastArrival.Add(r.When.Quiet.Min))
		}
		if r.When.Age != nil && !s.Died.IsZero() {
			all = append(all, s.Died.Add(r.When.Age.Min))
			if r.When.Age.Max > 0 {
				all = append(all, s.Died.Add(r.When.Age.Max+1))
			}
		}
	}
	for _, f := range q.policy.Freezes {
		all = append(all, f.To)
	}
	return later(all, s.Now)
}

func later(all []time.Time, now time.Time) []time.Time {
	all = slices.DeleteFunc(all, func(t time.Time) bool { return !t.After(now) })
	slices.SortFunc(all, time.Time.Compare)
	return all
}
