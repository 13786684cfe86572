package sqljobs

import (
	"fmt"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// section is the backend's own section of the policy.
func section[T any](c backends.Config) (*T, error) {
	b, ok := c.Backend.(*T)
	if !ok {
		return nil, fmt.Errorf("the section of backend %s is a %T", c.Name, c.Backend)
	}
	return b, nil
}

// selectors are the values of the queue column by queue of the policy. Two
// queues may not name the same letters, nor may one have a name where the
// table has no queue column.
func selectors(c backends.Config, j *Jobs) (map[string]string, error) {
	out, owner := map[string]string{}, map[string]string{}
	for _, queue := range sortedKeys(c.Sources) {
		src, ok := c.Sources[queue].(*Source)
		if !ok {
			return nil, fmt.Errorf("the source of queue %s is a %T", queue, c.Sources[queue])
		}
		if err := checkSource(src, j); err != nil {
			err.Queue = queue
			return nil, err
		}
		if other, taken := owner[src.Queue]; taken {
			return nil, &backends.ConfigError{Queue: queue, Key: "queue", Why: "the queue " + other + " names the same letters", Hint: "remove one of the two"}
		}
		out[queue], owner[src.Queue] = src.Queue, queue
	}
	return out, nil
}

func checkSource(src *Source, j *Jobs) *backends.ConfigError {
	switch {
	case src.Queue == "" && j.Queue != "":
		return faultAt("queue", "write the queue's name as its column spells it", "the table has a queue column, so the source needs its value")
	case src.Queue != "" && j.Queue == "":
		return faultAt("queue", "map jobs.queue, or leave queue out", "the table has no queue column")
	}
	return nil
}

func newStore(name string, e engine, jobs *Jobs, sources map[string]string) *Store {
	return &Store{
		name: name, engine: e, jobs: jobs, sources: sources, batch: maxBatch,
		mapped: map[string]*mapping{},
	}
}
