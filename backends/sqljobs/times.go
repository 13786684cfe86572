package sqljobs

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// zone is the time zone of times that are stored without one. Local would
// mean another zone on another machine, so it is no zone.
func zone(name string) (*time.Location, bool) {
	if name == "" || strings.EqualFold(name, "utc") {
		return time.UTC, true
	}
	if strings.EqualFold(name, "local") {
		return nil, false
	}
	loc, err := time.LoadLocation(name)
	return loc, err == nil
}

// withZone and withoutZone are the spellings of a time that the engines print:
// ISO 8601 as PostgreSQL prints it in UTC, and as applications and SQLite's
// own functions write it (https://www.sqlite.org/lang_datefunc.html). Go
// accepts a fraction of a second wherever seconds stand.
var (
	withZone    = [...]string{time.RFC3339, "2006-01-02 15:04:05-07", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700 MST"}
	withoutZone = [...]string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly}
)

// at reads a stored time. It is zero where the value is no time: NULL,
// infinity, or a spelling that is not known.
func (c TimeColumn) at(v value) time.Time {
	if v.kind == number || v.kind == real || c.Unit != "" {
		return epoch(string(v.bytes), c.Unit)
	}
	s := string(v.bytes)
	for _, layout := range withZone {
		const between = len(time.DateOnly) // day and hour: a failure costs more than a reading
		if len(s) <= between || s[between] != layout[between] {
			continue
		}
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	loc, ok := zone(c.TZ)
	if !ok {
		return time.Time{}
	}
	for _, layout := range withoutZone {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}

func epoch(s, unit string) time.Time {
	size, ok := units[unit]
	if !ok {
		return time.Time{}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		perSecond := int64(time.Second / size)
		return time.Unix(n/perSecond, n%perSecond*int64(size)).UTC()
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1e17 {
		whole := int64(f)
		return epoch(strconv.FormatInt(whole, 10), unit).Add(time.Duration((f - float64(whole)) * float64(size)))
	}
	return time.Time{}
}

const (
	timestamptz = "timestamp with time zone"
	timestamp   = "timestamp without time zone"

	// epoch2000 is the first moment of 2000 in microseconds since 1970.
	epoch2000 = 946_684_800_000_000
)

func isTimestamp(typ string) bool { return typ == timestamptz || typ == timestamp }

// wired reads a timestamp as PostgreSQL sends it in binary: microseconds since
// 2000. It is zero where its text would be no time either: NULL, infinity, and
// years that have no four digits.
func (c TimeColumn) wired(raw []byte, typ string) time.Time {
	if len(raw) != 8 {
		return time.Time{}
	}
	us := int64(binary.BigEndian.Uint64(raw))
	t := time.UnixMicro(us + epoch2000).UTC()
	if us == math.MaxInt64 || us == math.MinInt64 || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	if typ == timestamptz {
		return t
	}
	loc, ok := zone(c.TZ)
	if !ok {
		return time.Time{}
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), loc).UTC()
}
