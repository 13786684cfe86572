package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// when turns an RFC 3339 time into an age ("3 h ago") or what is left until
// then ("in 12 min"). An empty time gives an empty text.
func (u *ui) when(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return at
	}
	d := u.now().Sub(t)
	if d < 0 {
		return "in " + span(-d)
	}
	if d < time.Second {
		return "just now"
	}
	return span(d) + " ago"
}

// span is a duration in its largest unit, rounded down, as a person says it.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// number groups digits by three: 1,204.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count is a number with its noun: "1 message", "2 messages".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// some is a number, or nothing for zero.
func some(n int) string {
	if n == 0 {
		return ""
	}
	return number(n)
}

// left says a duration, as the gate gives it, in its largest unit.
func left(d string) string {
	t, err := time.ParseDuration(d)
	if err != nil {
		return d
	}
	return span(t)
}

// last turns the time at the end of "r-7k2m9q done at 2026-12-01T03:00:00Z" into
// an age.
func (u *ui) last(outcome string) string {
	what, at, ok := strings.Cut(outcome, " at ")
	if !ok {
		return outcome
	}
	return what + ", " + u.when(at)
}
