package policy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// ParseDuration reads a positive duration: what time.ParseDuration reads, or
// whole days as in "30d".
func ParseDuration(s string) (time.Duration, error) {
	const form = "not a duration such as 30s, 10m, 24h or 30d"
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, atoi := strconv.Atoi(days)
		if atoi == nil && n > 0 && n <= 36500 {
			d, err = time.Duration(n)*24*time.Hour, nil
		}
	}
	switch {
	case err != nil:
		return 0, errors.New(form)
	case d <= 0:
		return 0, errors.New("a duration must be longer than nothing")
	}
	return d, nil
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

// UnmarshalText reads the form above.
func (r *rate) UnmarshalText(text []byte) error {
	number, unit, _ := strings.Cut(string(text), "/")
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || seconds == 0 || !(n > 0) || n > 1e6 || math.IsInf(n, 0) {
		return errors.New("not a rate such as 5/s, 30/m or 100/h")
	}
	*r = rate(n / seconds)
	return nil
}

// Attempts is "reset", "keep" or a number from 0.
type Attempts string

// UnmarshalText reads the form above.
func (a *Attempts) UnmarshalText(text []byte) error {
	s := string(text)
	if s != "reset" && s != "keep" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 1000 {
			return errors.New("must be reset, keep or a number up to 1000")
		}
		s = strconv.Itoa(n)
	}
	*a = Attempts(s)
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
		return errors.New("an empty list takes nothing; leave the key out")
	}
	for _, item := range nodes {
		if item.Kind != yaml.ScalarNode || item.Tag != "!!str" || item.Value == "" {
			return errors.New("must be text or a list of texts; put numbers in quotes")
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
