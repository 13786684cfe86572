package policy_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/policy"
)

// The kinds of store of these tests have keys of every shape a store may use.

type sqsBackend struct {
	Region   string        `yaml:"region" doc:"AWS region"`
	Endpoint string        `yaml:"endpoint" doc:"endpoint of a local service"`
	Timeout  time.Duration `yaml:"timeout" doc:"time one call may take"`
}

type sqsSource struct {
	DLQ          string        `yaml:"dlq" doc:"name of the dead-letter queue"`
	Destinations []destination `yaml:"destinations" doc:"queues that messages go back to"`
}

// destination is a queue's name, or a section with more about it.
type destination struct {
	Queue string `yaml:"queue" doc:"name of the queue"`
	FIFO  bool   `yaml:"fifo" doc:"a FIFO queue"`
}

func (d *destination) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		d.Queue = n.Value
		return nil
	}
	type plain destination
	if err := n.Decode((*plain)(d)); err != nil {
		return err
	}
	if d.Queue == "" {
		return errors.New("a destination needs a queue")
	}
	return nil
}

type connection struct {
	ReadEnv  string `yaml:"read_env" doc:"variable with the DSN for reading"`
	WriteEnv string `yaml:"write_env" doc:"variable with the DSN for writing"`
}

type postgresBackend struct {
	Preset     string `yaml:"preset" enum:"river,solid-queue" doc:"schema of the job tables"`
	connection `yaml:",inline"`
	Pool       int               `yaml:"pool" min:"1" doc:"connections"`
	Labels     map[string]string `yaml:"labels" doc:"names for logs"`
	Set        map[string]column `yaml:"set" null:"true" doc:"columns and what they are set to"`
}

// column is a value that may be null, with keys of its own where it is a section.
type column struct {
	text string
	keys []string
}

func (c *column) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return fmt.Errorf("line %d: a column is no list", n.Line)
	}
	c.text = n.Value
	for i := 0; i < len(n.Content); i += 2 {
		c.keys = append(c.keys, n.Content[i].Value)
	}
	return nil
}

type postgresSource struct {
	Queue string `yaml:"queue" doc:"name of the queue"`
}

func options() policy.Options {
	return policy.Options{Kinds: map[string]policy.Kind{
		"sqs": {
			NewBackend: func() any { return new(sqsBackend) },
			NewSource:  func() any { return new(sqsSource) },
		},
		"postgres": {
			NewBackend: func() any { return new(postgresBackend) },
			NewSource:  func() any { return new(postgresSource) },
		},
	}}
}

func load(t testing.TB, name string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("../testdata/policies/"+name, options())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
