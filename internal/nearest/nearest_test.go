package nearest

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	known := []string{"queue", "queues", "do", "run", "count", "approve", "as_of", "per_hour", strings.Repeat("l", longest+1)}
	for word, want := range map[string]string{
		"queue":                        "queue",
		"queus":                        "queue", // the first of two that are as near
		"queuess":                      "queues",
		"cuont":                        "count",
		"conut":                        "count",
		"cnuot":                        "count",
		"tnuoc":                        "",
		"Count":                        "count",
		"approval":                     "approve",
		"asOf":                         "as_of",
		"perHour":                      "per_hour",
		"PER-HOUR":                     "per_hour",
		"rn":                           "run",
		"rum":                          "run",
		"sum":                          "",
		"d":                            "do",
		"x":                            "",
		"":                             "",
		"__":                           "",
		strings.Repeat("l", longest+1): "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Word("queue", nil); got != "" {
		t.Errorf("of no words: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ac", 1}, {"ab", "ba", 2}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if back := distance(c.b, c.a); back != c.want {
			t.Errorf("%q and %q: %d, want %d", c.b, c.a, back, c.want)
		}
	}
}
