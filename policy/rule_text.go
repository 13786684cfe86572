package policy

import (
	"fmt"
	"strings"
)

// String is the rule in a sentence: "poison: never if error is permanent and
// patched is false".
func (r *Rule) String() string {
	text := r.Name + ": " + string(r.Do)
	if when := r.When.String(); when != "" {
		text += " if " + when
	}
	if r.Limits != (Limits{}) {
		text += ", " + r.Limits.String()
	}
	return text
}

// String is the condition in words, "" if it takes every message.
func (w When) String() string {
	var parts []string
	list := func(name string, values []string) {
		if len(values) > 0 {
			parts = append(parts, name+" is "+strings.Join(values, " or "))
		}
	}
	list("error", w.Error)
	list("code", w.Code)
	list("job", w.Job)
	if w.Replays != nil {
		parts = append(parts, "replays are "+w.Replays.String())
	}
	if w.Attempts != nil {
		parts = append(parts, "attempts are "+w.Attempts.String())
	}
	if w.Age != nil {
		parts = append(parts, "age is "+w.Age.String())
	}
	if w.Quiet != nil {
		parts = append(parts, "quiet for "+short(w.Quiet.Min))
	}
	if w.Patched != nil {
		parts = append(parts, fmt.Sprintf("patched is %t", *w.Patched))
	}
	return strings.Join(parts, " and ")
}
