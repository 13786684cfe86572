package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// hinted is an error that brings its hint.
type hinted struct{ why, hint string }

func (h *hinted) Error() string { return h.why }

// longest bounds durations, so that no time plus one of them is out of range.
const longest = 36500 * 24 * time.Hour

// ParseDuration reads a positive duration of at most 100 years: hours, minutes,
// seconds and milliseconds as time.ParseDuration reads them, such as 1h30m, or
// whole days as in 30d.
func ParseDuration(s string) (time.Duration, error) {
	bad := func(why string) (time.Duration, error) {
		return 0, &hinted{why, "write 30s, 10m, 24h, 1h30m or whole days as in 30d"}
	}
	d, ok := days(s)
	if !ok {
		var err error
		if d, err = time.ParseDuration(s); err != nil || !plainDuration(s) {
			return bad("not a duration")
		}
	}
	switch {
	case d <= 0:
		return bad("a duration must be longer than nothing")
	case d > longest:
		return bad("a duration is at most 36500d")
	}
	return d, nil
}

// days reads "30d". More than fit into a duration are not read.
func days(s string) (time.Duration, bool) {
	number, ok := strings.CutSuffix(s, "d")
	n, isNumber := decimal(number)
	return time.Duration(n) * 24 * time.Hour, ok && isNumber && n >= 0 && n < 100_000
}

// plainDuration holds for durations that are spelled with digits and h, m, s or
// ms alone: no sign, no point without a digit on both sides.
func plainDuration(s string) bool {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for i, c := range []byte(s) {
		switch {
		case digit(i), c == 'h', c == 'm', c == 's':
		case c == '.' && digit(i-1) && digit(i+1):
		default:
			return false
		}
	}
	return true
}

// short prints a duration as a policy would write it.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d > time.Minute:
		d = d.Truncate(time.Second)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// rate is a number of messages a second, written "5/s", "30/m" or "100/h".
type rate float64

// UnmarshalText reads the form above. What is slower than 0.01/h is refused: the
// time between two messages must stay one that can be counted.
func (r *rate) UnmarshalText(text []byte) error {
	number, unit, _ := strings.Cut(string(text), "/")
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || seconds == 0 || strings.Trim(number, "0123456789.") != "" || strings.HasPrefix(number, ".") || strings.HasSuffix(number, ".") {
		return &hinted{"not a rate", "write 5/s, 30/m or 100/h"}
	}
	if n < 0.01 || n > 1e6 {
		return &hinted{"a rate is 0.01 to 1000000 in a second, a minute or an hour", "leave the key out to send as fast as the store takes them"}
	}
	*r = rate(n / seconds)
	return nil
}

// Attempts is "reset", "keep" or a number from 0.
type Attempts string

// UnmarshalYAML reads the form above.
func (a *Attempts) UnmarshalYAML(n *yaml.Node) error {
	i, number := decimal(n.Value)
	number = number && n.Tag == "!!int" && i >= 0 && i <= 1000
	word := n.Tag == "!!str" && (n.Value == "reset" || n.Value == "keep")
	if n.Kind != yaml.ScalarNode || !number && !word {
		return &hinted{"must be reset, keep or a number up to 1000", "reset begins anew, keep leaves the count as it is"}
	}
	*a = Attempts(n.Value)
	return nil
}

// oneOrMore is a word or a list of words.
type oneOrMore []string

// UnmarshalYAML reads either form.
func (o *oneOrMore) UnmarshalYAML(n *yaml.Node) error {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	if len(nodes) == 0 {
		return &hinted{"an empty list takes nothing", "leave the key out"}
	}
	for _, item := range nodes {
		if item.Kind != yaml.ScalarNode || item.Tag != "!!str" || item.Value == "" {
			return &hinted{"must be a text or a list of texts", "put numbers, true and false in quotes"}
		}
		*o = append(*o, item.Value)
	}
	return nil
}

// isName holds for the names that people and agents type: no space, no
// control character, nothing that looks like an option or a hidden file.
func isName(s string) bool {
	for i, c := range []byte(s) {
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 63
}

const nameHint = "a name is 1 to 63 of a-z 0-9 _ . - and starts with a letter or a digit"

// slashed turns a dotted key into a path.
func slashed(key string) string { return strings.ReplaceAll(key, ".", "/") }
