package gate

import (
	"strings"
	"testing"
	"time"
)

// FuzzShownID: an id comes back as it is, whatever a store has for one, is shown in
// printable ASCII, and has one spelling only.
func FuzzShownID(f *testing.F) {
	for _, s := range []string{"7", "", "~", "~Nw", "~Nx", "~Nw==", "~N w", "~\n", `["a","b"]`, "a b", "\xff", "\x1b[2J", strings.Repeat("7", 129), "~" + strings.Repeat("A", 400)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := showID(s)
		if back, ok := readID(shown); !ok || back != s {
			t.Errorf("%q is shown as %q and read as %q", s, shown, back)
		}
		if strings.Trim(shown, idCharacters) != "" {
			t.Errorf("%q is shown as %q", s, shown)
		}
		if id, ok := readID(s); ok && showID(id) != s {
			t.Errorf("%q is a second spelling of %q", s, id)
		}
	})
}

const idCharacters = `0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:/@+=#,[]"~`

// FuzzTime: a time of an argument lies where times can be compared and written, or
// is refused in words that hold nothing unquoted.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"", "2026-12-01T03:00:00Z", "2026-12-01T03:00:00.123456789+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "1969-12-31T23:59:60Z", "2026-02-30T00:00:00Z", "now", "\x1b[2J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseTime("dead_since", s)
		switch {
		case err != nil:
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' && r < 0xa0 || r == 0x202e }) {
				t.Errorf("%q is refused as %q", s, err)
			}
		case s == "" && at.IsZero():
		case at.Location() != time.UTC || at.Year() < 1970 || at.Year() > 9999:
			t.Errorf("%q is read as %v", s, at)
		default:
			if again, err := parseTime("dead_since", at.Format(time.RFC3339Nano)); err != nil || !again.Equal(at) {
				t.Errorf("%q is read as %v, and that as %v, %v", s, at, again, err)
			}
		}
	})
}
