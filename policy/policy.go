package policy

import (
	"regexp"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/rawjson"
)

// Policy is a file that was understood in full. It is not changed after Load
// and may be used by several goroutines.
type Policy struct {
	Path     string // of the policy file, as given
	Folder   string // absolute; relative names in the policy start here
	State    string // absolute and clean
	Digest   string // hex SHA-256 over the sorted lines "name sha256\n" of Files
	Files    []File
	Backends map[string]*Backend
	People   map[string]*Person
	Groups   map[string][]string // group -> people
	Errors   []ErrorPattern
	Defaults Defaults
	Freezes  []Freeze
	Queues   map[string]*Queue
	Warnings []Fault // of loading; Check has more

	doc   *document
	loose []Fault // of files that others may change
}

// File is one file that the policy consists of, as it was read.
type File struct {
	Name   string // relative to the policy's folder, with slashes
	Digest string // hex SHA-256 of Data
	Data   []byte
}

// Backend is one store that queues live in.
type Backend struct {
	Name, Kind string
	Config     any // what Kind.NewBackend returned, filled

	policy *Policy
}

// Person is somebody who may approve. This build checks no keys, so a person
// is a name.
type Person struct{ Name string }

// ErrorPattern gives errors a class and a code that people read.
type ErrorPattern struct {
	Class string         `yaml:"class" required:"true" enum:"permanent,transient,not_failed" doc:"what a redrive may hope for"`
	Code  string         `yaml:"code" required:"true" doc:"a short name for the error, shown to people and agents"`
	Match *regexp.Regexp `yaml:"match" required:"true" doc:"RE2 expression, tried on the store's code and on the error text"`
}

// Defaults hold for all queues.
type Defaults struct {
	Separation string        `yaml:"separation" enum:"agent,person" doc:"agent: a person may approve what an agent asked on their behalf; person: two different people (default: agent)"`
	DirectTTL  time.Duration `yaml:"direct_ttl" doc:"how long a direct redrive may take before the rest is released (default: 15m)"`
	Attempts   Attempts      `yaml:"attempts" doc:"attempts after a redrive: reset, keep or a number (default: reset)"`
	Snapshots  Snapshots     `yaml:"snapshots" doc:"copies of what is changed or removed"`
	Audit      Audit         `yaml:"audit" doc:"the audit log"`
}

// Snapshots says how long copies of messages are kept.
type Snapshots struct {
	Keep time.Duration `yaml:"keep" doc:"how long a snapshot is kept (default: 30d)"`
}

// Audit says what the audit log records.
type Audit struct {
	Level string `yaml:"level" enum:"metadata" doc:"metadata: paths, ids and digests, never values"`
}

// Freeze is a time in which nothing is redriven without a person.
type Freeze struct {
	Name     string
	From, To time.Time // From is in it, To is not
	Queues   []string  // empty: all
	Becomes  Effect    // what direct becomes: EffectApproval or Never
}

// Queue is what the policy says about one queue.
type Queue struct {
	Name      string
	Backend   *Backend
	Source    any    // what Kind.NewSource returned, filled
	SourceKey string // canonical text of backend and source: equal for the same letters
	Effect    Effect // where no rule matches
	Rules     []*Rule
	Approval  Approval
	Patch     PatchRules
	Redact    Redaction
	Limits    Limits // of every direct redrive
	Send      Send
	Handler   Handler

	policy *Policy
}

// Rule decides the messages that its condition takes.
type Rule struct {
	Name   string `yaml:"name" required:"true" doc:"named in every decision"`
	When   When   `yaml:"when" doc:"all of these must hold; without it the rule takes every message"`
	Do     Effect `yaml:"do" required:"true" enum:"direct,approval,never" doc:"any matching never wins, then the first rule that matches"`
	Limits Limits `yaml:"limits" doc:"limits of what this rule sends directly, beside those of the queue"`
	Line   int    `yaml:"-"`
}

// Limits bound direct redrives; 0 is none. Used is what was sent, is unknown or
// reserved, over a rolling hour, whoever asks.
type Limits struct {
	PerPlan    int           `yaml:"per_plan" min:"1" doc:"messages in one direct redrive"`
	PerHour    int           `yaml:"per_hour" min:"1" doc:"messages sent directly in any 60 minutes; needed for direct"`
	PerMessage int           `yaml:"per_message" min:"1" doc:"direct redrives of one message, over all its lives"`
	Cooldown   time.Duration `yaml:"cooldown" doc:"least time between two direct redrives of one message"`
}

// Tighter keeps the stricter of each limit.
func Tighter(a, b Limits) Limits {
	return Limits{
		PerPlan:    least(a.PerPlan, b.PerPlan),
		PerHour:    least(a.PerHour, b.PerHour),
		PerMessage: least(a.PerMessage, b.PerMessage),
		Cooldown:   max(a.Cooldown, b.Cooldown),
	}
}

// least is the smaller of two limits of which 0 is none.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Handler is what the operator vouches for about the consumer.
type Handler struct {
	Idempotent bool `yaml:"idempotent" doc:"a second delivery does no harm; needed for direct, which is one more delivery"`
}

// PatchRules say what a patch may change.
type PatchRules struct {
	Allow   []rawjson.Pattern
	Replace bool        // a whole body may be replaced
	Schema  *BodySchema // what a patched body must satisfy; nil: none
	Direct  bool        // a patched message may be redriven directly
}

// Redaction says what agents never see.
type Redaction struct {
	Paths  []rawjson.Pattern
	Text   []*regexp.Regexp
	People string // "shown" or "redacted"
}

// Send says how messages are sent.
type Send struct {
	Rate     float64 // messages a second; 0: no pace of its own
	Attempts string  // "reset", "keep" or a number
}

// Fault is a fault in a key of the backend's own section, for checks that only
// the store can make. key is dotted: "tls.ca".
func (b *Backend) Fault(key, why, hint string) Fault {
	return b.policy.faultAt(join("backends/"+b.Name, slashed(key)), why, hint)
}

// SourceFault is a fault in a key of the queue's source section.
func (q *Queue) SourceFault(key, why, hint string) Fault {
	return q.policy.faultAt(join("queues/"+q.Name+"/source", slashed(key)), why, hint)
}

func (p *Policy) faultAt(path, why, hint string) Fault {
	at := p.doc.where(path)
	return Fault{File: p.doc.file, Line: at.line, Column: at.column, Why: why, Hint: or(hint, p.doc.about(path))}
}
