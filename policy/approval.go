package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Approval is what a person's yes must look like.
type Approval struct {
	From        []string      `yaml:"from" unique:"true" doc:"groups or people; without it anyone at the command line"`
	Count       int           `yaml:"count" min:"1" doc:"different people who must approve (default: 1)"`
	Proof       string        `yaml:"proof" enum:"none,key,touch,pin" doc:"how strongly it is proven who approved; this build knows none only"`
	TTL         time.Duration `yaml:"ttl" doc:"how long a request waits for people (default: 1h)"`
	ValidFor    time.Duration `yaml:"valid_for" doc:"how long an approval may be executed (default: 30m)"`
	DenyFor     time.Duration `yaml:"deny_for" doc:"how long the same request by agents stays denied (default: 24h)"`
	MaxMessages int           `yaml:"max_messages" min:"1" doc:"messages in one request (default: 1000)"`
	MaxPending  int           `yaml:"max_pending" min:"1" doc:"requests that may wait at once for this queue (default: 20)"`
	Require     []string      `yaml:"require" enum:"fix" unique:"true" doc:"fix: the request names what was fixed and when"`
	Separation  string        `yaml:"separation" enum:"agent,person" doc:"as in defaults, for this queue"`

	people []string
}

// People are the names that may approve, sorted, each once; none where anyone
// at the command line may.
func (a Approval) People() []string { return slices.Clone(a.people) }

// Who says who can approve, as in "1 of oncall".
func (a Approval) Who() string {
	if len(a.From) == 0 {
		return "anyone at the command line"
	}
	return fmt.Sprintf("%d of %s", a.Count, strings.Join(a.From, ", "))
}

// fill sets what the file leaves out.
func (a *Approval) fill(d Defaults) {
	a.Count = max(a.Count, 1)
	a.TTL = or(a.TTL, time.Hour)
	a.ValidFor = or(a.ValidFor, 30*time.Minute)
	a.DenyFor = or(a.DenyFor, 24*time.Hour)
	a.MaxMessages = or(a.MaxMessages, 1000)
	a.MaxPending = or(a.MaxPending, 20)
	a.Proof = or(a.Proof, "none")
	a.Separation = or(a.Separation, d.Separation)
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
