package policy

import (
	"fmt"
	"slices"
	"time"
)

func (b *builder) freeze(i int, raw freeze) {
	at := fmt.Sprintf("freeze/%d", i)
	b.freezeName(i, raw.Name)
	f := Freeze{Name: raw.Name, Queues: raw.Queues, Becomes: or(raw.DirectBecomes, EffectApproval)}
	if slices.Equal(f.Queues, []string{allQueues}) {
		f.Queues = nil
	}
	for _, name := range f.Queues {
		if _, ok := b.raw.Queues[name]; !ok {
			b.fault(at+"/queues", fmt.Sprintf("there is no queue %s to freeze", quote(name)), b.suggest(name, append(sorted(b.raw.Queues), allQueues)))
		}
	}
	name := "UTC"
	if b.has(at + "/tz") {
		name = raw.Zone
	}
	zone, err := time.LoadLocation(name)
	if (err != nil || name == "" || name == "Local") && !b.bad[at+"/tz"] {
		b.fault(at+"/tz", fmt.Sprintf("there is no time zone %s", quote(name)), "use an IANA name such as Europe/Berlin, or UTC")
	}
	if err != nil || !b.given(at+"/from") || !b.given(at+"/to") {
		return
	}
	f.From, f.To = raw.From.in(zone, false), raw.To.in(zone, true)
	if !f.From.Before(f.To) {
		b.fault(at+"/to", fmt.Sprintf("freeze %q ends before it begins", f.Name), "to must be later than from")
	}
	b.p.Freezes = append(b.p.Freezes, f)
}

// allQueues stands for every queue where a freeze names queues.
const allQueues = "all"

func (b *builder) freezeName(i int, name string) {
	at := fmt.Sprintf("freeze/%d/name", i)
	b.givenName(at, "a freeze", name)
	if slices.ContainsFunc(b.raw.Freeze[:i], func(other freeze) bool { return other.Name == name }) && b.given(at) {
		b.fault(at, fmt.Sprintf("two freezes are called %q", name), "a decision names its freeze: give each its own name")
	}
}
