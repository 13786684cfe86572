package policy

import (
	"regexp"

	"gopkg.in/yaml.v3"
)

// The shape of the file, where it differs from what is made of it. The decoder,
// the JSON Schema and the reference in docs read the same tags.

type file struct {
	Version  int                   `yaml:"version" required:"true" doc:"version of this format: 1"`
	State    string                `yaml:"state" required:"true" doc:"absolute folder of the ledger and the audit log"`
	Backends map[string]*yaml.Node `yaml:"backends" doc:"the stores, by name"`
	People   map[string]person     `yaml:"people" doc:"who may approve, by name"`
	Groups   map[string][]string   `yaml:"groups" unique:"true" doc:"groups of people, by name"`
	Errors   []ErrorPattern        `yaml:"errors" doc:"patterns that give errors a class and a code"`
	Defaults Defaults              `yaml:"defaults" doc:"what holds for all queues"`
	Freeze   []freeze              `yaml:"freeze" doc:"times in which nothing is redriven directly"`
	Queues   map[string]queue      `yaml:"queues" doc:"the queues, by the name that agents use; everything else is out of reach"`
}

type person struct{}

type freeze struct {
	Name          string    `yaml:"name" required:"true" doc:"named in decisions"`
	From          localTime `yaml:"from" required:"true" doc:"local time such as 2026-11-27T00:00"`
	To            localTime `yaml:"to" required:"true" doc:"local time; the freeze ends before it"`
	Zone          string    `yaml:"tz" doc:"IANA time zone of from and to (default: UTC)"`
	Queues        oneOrMore `yaml:"queues" unique:"true" doc:"queues it holds for (default: all)"`
	DirectBecomes Effect    `yaml:"direct_becomes" enum:"approval,never" doc:"what direct becomes (default: approval)"`
}

type queue struct {
	Source   *yaml.Node `yaml:"source" required:"true" doc:"the backend and the store's own names"`
	Redrive  Effect     `yaml:"redrive" enum:"direct,approval,never" doc:"what holds where no rule matches (default: never)"`
	Handler  Handler    `yaml:"handler" doc:"what you vouch for about the consumer"`
	Rules    []Rule     `yaml:"rules" doc:"any matching never wins, then the first match, then redrive"`
	Approval Approval   `yaml:"approval" doc:"what a person's yes must look like"`
	Patch    patch      `yaml:"patch" doc:"what a patch may change; without it nothing"`
	Redact   redact     `yaml:"redact" doc:"what agents never see"`
	Limits   Limits     `yaml:"limits" doc:"limits of every direct redrive of this queue"`
	Send     send       `yaml:"send" doc:"how messages are sent"`
}

type patch struct {
	Allow   []string `yaml:"allow" unique:"true" doc:"JSON pointers that may differ; * stands for one step"`
	Replace bool     `yaml:"replace" doc:"a whole body may be replaced (default: false)"`
	Schema  string   `yaml:"schema" doc:"file beside the policy with the JSON Schema of a patched body"`
	Direct  bool     `yaml:"direct" doc:"a patched message may be redriven directly (default: false)"`
}

type redact struct {
	Paths  []string         `yaml:"paths" unique:"true" doc:"JSON pointers whose values are hidden wherever they occur; * stands for one step"`
	Text   []*regexp.Regexp `yaml:"text" unique:"true" doc:"RE2 expressions masked in any text"`
	People string           `yaml:"people" enum:"shown,redacted" doc:"whether people may see what is hidden from agents (default: redacted)"`
}

type send struct {
	Rate     rate     `yaml:"rate" doc:"pace, such as 5/s, 30/m or 100/h"`
	Attempts Attempts `yaml:"attempts" doc:"attempts after a redrive: reset, keep or a number (default: that of defaults)"`
}

// notBuilt says of a key that is part of the design of this format and not of
// this build, why it is refused.
func notBuilt(key string) (string, bool) {
	switch key {
	case "keys":
		return "this build cannot verify signatures yet, so it takes no keys of people", true
	case "canary", "lookup", "notify", "sign", "serial", "stages", "move_task":
		return "this build does not have " + `"` + key + `" yet`, true
	}
	return "", false
}
