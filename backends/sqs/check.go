package sqs

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs/envelope"
)

// check finds what is wrong without connecting.
func check(c backends.Config) error {
	b, ok := c.Backend.(*Backend)
	if !ok {
		return fmt.Errorf("the section of backend %s is a %T", c.Name, c.Backend)
	}
	if err := b.check(); err != nil {
		return err
	}
	owner := map[name]string{}
	for _, queue := range slices.Sorted(maps.Keys(c.Sources)) {
		src, ok := c.Sources[queue].(*Source)
		if !ok {
			return fmt.Errorf("the source of queue %s is a %T", queue, c.Sources[queue])
		}
		err := src.check(b.Region)
		if err == nil {
			dlq, _ := parseName(src.DLQ)
			if other, taken := owner[dlq]; taken {
				err = fault("dlq", "remove one of the two", "the queue %s names the same letters", other)
			}
			owner[dlq] = queue
		}
		if err != nil {
			err.Queue = queue
			return err
		}
	}
	return nil
}

func fault(key, hint, why string, args ...any) *backends.ConfigError {
	return &backends.ConfigError{Key: key, Why: fmt.Sprintf(why, args...), Hint: hint}
}

func (b *Backend) check() error {
	if !word(b.Region, "-") {
		return fault("region", "write region: eu-west-1", "a backend of type sqs needs the region of its queues")
	}
	if b.Endpoint != "" {
		u, err := url.Parse(b.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fault("endpoint", "write a URL such as https://vpce-0123.sqs.eu-west-1.vpce.amazonaws.com", "this is no URL of an endpoint")
		}
	}
	for _, v := range []struct{ key, env string }{{"access_key_env", b.AccessKeyEnv}, {"secret_key_env", b.SecretKeyEnv}, {"session_token_env", b.TokenEnv}} {
		if v.env != "" && !envName(v.env) {
			return fault(v.key, "write the name of the variable; change the key if one stood here", "this is no name of an environment variable")
		}
	}
	switch {
	case (b.AccessKeyEnv == "") != (b.SecretKeyEnv == ""):
		return fault("access_key_env", "name both variables, or none", "access_key_env and secret_key_env go together")
	case b.TokenEnv != "" && b.AccessKeyEnv == "":
		return fault("session_token_env", "name access_key_env and secret_key_env too", "a session token alone is no key")
	case b.Profile != "" && b.AccessKeyEnv != "":
		return fault("profile", "keep the profile, or the two variables", "profile excludes access_key_env")
	}
	return nil
}

func (s *Source) check(region string) *backends.ConfigError {
	dlq, ok := parseName(s.DLQ)
	if !ok {
		return fault("dlq", "write dlq: orders-dlq, or the queue's ARN", "this is no name of a queue")
	}
	seen := map[name]bool{dlq: true}
	for i, d := range s.Destinations {
		key := fmt.Sprintf("destinations.%d", i)
		to, ok := parseName(d)
		switch {
		case !ok:
			return fault(key, "write the queue's name or its ARN", "this is no name of a queue")
		case to == dlq:
			return fault(key, "name the queue whose consumer takes the messages", "this is the dead-letter queue itself")
		case seen[to]:
			return fault(key, "remove one of the two", "this queue is named twice")
		case to.fifo() != dlq.fifo():
			return fault(key, "FIFO queues end in .fifo", "a FIFO queue and a standard one cannot pass messages to each other")
		}
		seen[to] = true
	}
	for _, n := range append([]name{dlq}, slices.Collect(maps.Keys(seen))...) {
		if n.region != "" && n.region != region {
			return fault("dlq", "make a backend for each region", "the queue %s is in %s and the backend in %s", n.queue, n.region, region)
		}
	}
	return s.checkRest()
}

func (s *Source) checkRest() *backends.ConfigError {
	for _, a := range []struct{ key, name string }{{"reason.attributes.message", s.Reason.Attributes.Message}, {"reason.attributes.code", s.Reason.Attributes.Code}, {"reason.attributes.stack", s.Reason.Attributes.Stack}, {"job", s.Job}} {
		if a.name != "" && !attributeName(a.name) {
			return fault(a.key, "write the name as the consumer sets it", "this is no name of a message attribute")
		}
	}
	if kinds := append(envelope.Kinds(), envelope.None); s.Envelope != "" && !slices.Contains(kinds, s.Envelope) {
		return fault("envelope", "write one of "+strings.Join(kinds, ", "), "this is no kind of record")
	}
	if v := s.Look.Visibility; v != 0 && (v < leastVisibility || v > mostVisibility) {
		return fault("look.visibility", "write 30s to 12h", "this is out of range")
	}
	if n := s.Look.Most; n < 0 || n > mostHeld {
		return fault("look.most", fmt.Sprintf("write 1 to %d", mostHeld), "this is out of range")
	}
	return nil
}

// name is a queue as the policy names it. account and region are empty where it
// is a bare name.
type name struct{ partition, region, account, queue string }

func (n name) fifo() bool { return strings.HasSuffix(n.queue, ".fifo") }

// parseName reads a queue's name or ARN. A name has up to 80 letters, digits,
// hyphens and underscores, with .fifo at the end of a FIFO queue's (CreateQueue).
func parseName(s string) (n name, ok bool) {
	n.queue = s
	if strings.HasPrefix(s, "arn:") {
		p := strings.Split(s, ":")
		if len(p) != 6 || p[2] != "sqs" || !word(p[1], "-") || !word(p[3], "-") || !word(p[4], "") {
			return n, false
		}
		n = name{p[1], p[3], p[4], p[5]}
	}
	return n, len(n.queue) <= 80 && word(strings.TrimSuffix(n.queue, ".fifo"), "-_")
}

// attributeName follows SendMessage: letters, digits, and -_. but not at an end.
func attributeName(s string) bool {
	return len(s) <= 256 && word(s, "-_.") && s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
}

// envName is a variable's name as POSIX has it.
func envName(s string) bool { return word(s, "_") && (s[0] < '0' || s[0] > '9') }

// word reports whether s has letters and digits of ASCII and some other characters,
// and at least one of them.
func word(s, others string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(others, c) >= 0) {
			return false
		}
	}
	return s != ""
}
