package policy

import (
	"fmt"
	"slices"
	"time"
)

func (b *builder) freeze(i int, raw freeze) {
	at := fmt.Sprintf("freeze/%d", i)
	if raw.Name != "" {
		b.name(at+"/name", "a freeze", raw.Name)
	}
	f := Freeze{Name: raw.Name, Zone: or(raw.Zone, "UTC"), Queues: raw.Queues, Becomes: or(raw.DirectBecomes, EffectApproval), Line: b.where(at).line}
	if slices.Equal(f.Queues, []string{"all"}) && b.p.Queues["all"] == nil {
		f.Queues = nil
	}
	for _, name := range f.Queues {
		if _, ok := b.raw.Queues[name]; !ok {
			b.fault(at+"/queues", fmt.Sprintf("there is no queue %q to freeze", name), suggest(name, sorted(b.raw.Queues)))
		}
	}
	zone, err := time.LoadLocation(f.Zone)
	if err != nil || f.Zone == "Local" {
		b.fault(at+"/tz", fmt.Sprintf("there is no time zone %q", f.Zone), "use an IANA name such as Europe/Berlin, or UTC")
		return
	}
	if raw.From.IsZero() || raw.To.IsZero() {
		return
	}
	f.From, f.To = raw.From.in(zone, false), raw.To.in(zone, true)
	if !f.From.Before(f.To) {
		b.fault(at+"/to", fmt.Sprintf("freeze %q ends before it begins", f.Name), "to must be later than from")
	}
	b.p.Freezes = append(b.p.Freezes, f)
}
