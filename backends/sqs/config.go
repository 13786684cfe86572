package sqs

import (
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Backend is the section of a backend of type sqs.
type Backend struct {
	Region       string `yaml:"region" doc:"The region of the queues, such as eu-west-1."`
	Endpoint     string `yaml:"endpoint" doc:"URL of another endpoint than the region's own: a VPC endpoint or an emulator. The variables AWS_ENDPOINT_URL are ignored."`
	Profile      string `yaml:"profile" doc:"Profile of the shared AWS configuration. Without it and without keys the SDK's usual chain of credentials holds."`
	AccessKeyEnv string `yaml:"access_key_env" doc:"Name of the environment variable that holds the access key's id."`
	SecretKeyEnv string `yaml:"secret_key_env" doc:"Name of the variable that holds the secret access key."`
	TokenEnv     string `yaml:"session_token_env" doc:"Name of the variable that holds the session token of temporary keys."`
}

// Source is the section queues.NAME.source.
type Source struct {
	DLQ          string   `yaml:"dlq" doc:"Name or ARN of the dead-letter queue."`
	Destinations []string `yaml:"destinations" doc:"Names or ARNs of the queues that letters may be sent to. Without it each goes to the queue it came from."`
	Envelope     string   `yaml:"envelope" doc:"Which record of another service the messages are. Without it a record is recognised, in messages that SQS did not move here itself; none takes all as they are."`
	Reason       Reason   `yaml:"reason" doc:"Where the error is found, beside the records of other services."`
	Job          string   `yaml:"job" doc:"Message attribute that holds the job's name."`
	Look         Looking  `yaml:"look" doc:"How the queue is looked at."`
}

// Reason says where the error is found.
type Reason struct {
	Attributes Named `yaml:"attributes" doc:"Message attributes in which senders or workers leave the error."`
}

// Named names message attributes.
type Named struct {
	Message string `yaml:"message" doc:"Attribute of the error's text."`
	Code    string `yaml:"code" doc:"Attribute of the error's type or code."`
	Stack   string `yaml:"stack" doc:"Attribute of the stack trace."`
}

// Looking bounds a look.
type Looking struct {
	Visibility time.Duration `yaml:"visibility" doc:"How long a message that was taken stays hidden if this program is killed, 2m by default, 30s to 12h."`
	Most       int           `yaml:"most" doc:"The largest number of messages that are held at once, 50000 by default, at most 100000."`
}

// Limits of a look. SQS lets about 120,000 messages of a queue be in flight
// (Amazon SQS quotas); other consumers need some of them.
const (
	defaultVisibility = 2 * time.Minute
	leastVisibility   = 30 * time.Second
	mostVisibility    = 12 * time.Hour
	defaultMost       = 50_000
	mostHeld          = 100_000
)

func (l Looking) visibility() time.Duration {
	if l.Visibility == 0 {
		return defaultVisibility
	}
	return l.Visibility
}

func (l Looking) most() int {
	if l.Most == 0 {
		return defaultMost
	}
	return l.Most
}

// Driver is the driver for dead-letter queues of Amazon SQS.
func Driver() backends.Driver {
	return backends.Driver{
		Kind:       "sqs",
		NewBackend: func() any { return new(Backend) },
		NewSource:  func() any { return new(Source) },
		Check:      check,
		Open:       func(c backends.Config) (backends.Store, error) { return open(c) },
	}
}
