package gate

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/audit"
)

var classes = []string{string(backends.Permanent), string(backends.Transient), string(backends.NotFailed), string(backends.Unknown)}

// matcher is a filter that was checked.
type matcher struct {
	f            Filter
	since, until time.Time
	digest       []byte
}

func newMatcher(f *Filter) (*matcher, error) {
	m := &matcher{}
	if f != nil {
		m.f = *f
	}
	var err error
	for name, text := range map[string]string{"error_contains": m.f.ErrorContains, "job": m.f.Job, "group": m.f.Group} {
		if err := checkText("filter."+name, text, false); err != nil {
			return nil, err
		}
	}
	if m.since, err = parseTime("filter.since", m.f.Since); err != nil {
		return nil, err
	}
	if m.until, err = parseTime("filter.until", m.f.Until); err != nil {
		return nil, err
	}
	if !m.since.IsZero() && !m.until.IsZero() && !m.since.Before(m.until) {
		return nil, refuse(CodeBadArgument, "`filter.since` must be before `filter.until`.")
	}
	if c := m.f.ErrorClass; c != "" && !slices.Contains(classes, c) {
		return nil, refuse(CodeBadArgument, "`filter.error_class` must be one of %s, got %s.", strings.Join(classes, ", "), quote(c))
	}
	if m.f.MinAttempts < 0 {
		return nil, refuse(CodeBadArgument, "`filter.min_attempts` must be 0 or more, got %d.", m.f.MinAttempts)
	}
	data, err := json.Marshal(m.f)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	m.digest = sum[:8]
	return m, nil
}

// args are the filter as the log records it: what was searched for is content.
func (m *matcher) args() (out []audit.Arg) {
	for _, a := range []audit.Arg{
		{Key: "filter.error_class", Value: m.f.ErrorClass}, {Key: "filter.group", Value: words(m.f.Group)},
		{Key: "filter.job", Value: words(m.f.Job)}, {Key: "filter.since", Value: words(exact(m.since))}, {Key: "filter.until", Value: words(exact(m.until))},
	} {
		if a.Value != "" && a.Value != words("") {
			out = append(out, a)
		}
	}
	if m.f.ErrorContains != "" {
		out = append(out, audit.Arg{Key: "filter.error_contains", Value: true})
	}
	if m.f.MinAttempts > 0 {
		out = append(out, audit.Arg{Key: "filter.min_attempts", Value: m.f.MinAttempts})
	}
	return out
}

// match judges a letter by what the caller may see of it.
func (m *matcher) match(d *backends.DeadLetter, v *seen) bool {
	f := &m.f
	switch {
	case f.ErrorContains != "" && !strings.Contains(strings.ToLower(v.message), strings.ToLower(f.ErrorContains)):
		return false
	case f.ErrorClass != "" && f.ErrorClass != v.class:
		return false
	case f.Job != "" && f.Job != v.job:
		return false
	case f.Group != "" && f.Group != v.group:
		return false
	case f.MinAttempts > 0 && d.Attempts.Made < f.MinAttempts:
		return false
	case !m.since.IsZero() && d.Times.Dead.Before(m.since):
		return false
	case !m.until.IsZero() && !d.Times.Dead.Before(m.until):
		return false
	}
	return true
}

// past reports that no later letter of a scan, newest first, can match.
func (m *matcher) past(d *backends.DeadLetter) bool {
	return !m.since.IsZero() && !d.Times.Dead.IsZero() && d.Times.Dead.Before(m.since)
}
