package policy

import (
	"slices"
	"time"
	_ "time/tzdata" // for machines that have no time zones of their own
)

// Covers says whether the freeze is about a queue at all.
func (f Freeze) Covers(queue string) bool {
	return len(f.Queues) == 0 || slices.Contains(f.Queues, queue)
}

// Holds says whether the freeze is on for a queue. A caller without a clock is
// taken to be inside every freeze.
func (f Freeze) Holds(queue string, now time.Time) bool {
	return f.Covers(queue) && (now.IsZero() || !now.Before(f.From) && now.Before(f.To))
}

// localTime is a time of day in a zone that stands beside it.
type localTime struct{ time.Time }

// UnmarshalText reads 2026-11-27T00:00, with whole seconds if there are any.
func (t *localTime) UnmarshalText(text []byte) error {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		// Behind the seconds time.Parse would take a fraction.
		if parsed, err := time.Parse(layout, string(text)); err == nil && len(text) == len(layout) {
			t.Time = parsed
			return nil
		}
	}
	return &hinted{"not a local time", "write 2026-11-27T00:00; the zone stands under tz"}
}

// in is the instant of a local time. Where clocks are set back it exists twice,
// where they are set forward not at all: both readings are tried, and the
// earlier or the later is taken so that a freeze is never shorter than written.
func (t localTime) in(zone *time.Location, later bool) time.Time {
	read := func(hours time.Duration) time.Time {
		_, offset := t.Add(hours * time.Hour).In(zone).Zone()
		return t.Add(-time.Duration(offset) * time.Second).In(zone)
	}
	a, b := read(-24), read(24)
	aFits, bFits := t.reads(a), t.reads(b)
	switch {
	case aFits && !bFits:
		return a
	case bFits && !aFits:
		return b
	case later == a.After(b):
		return a
	}
	return b
}

func (t localTime) reads(at time.Time) bool {
	return at.Format(time.DateTime) == t.Format(time.DateTime)
}
