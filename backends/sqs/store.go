package sqs

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// batch is how many letters one ticket covers: what one crash can leave in doubt.
const batch = 100

// Store is the queues of one backend.
type Store struct {
	backend   *Backend
	env       func(string) (string, bool)
	sources   map[string]*Source
	snapshots func(context.Context) (backends.Snapshots, error)
	poll      time.Duration // of a long poll

	// live ends with the store: looks end then, and give back what they hold.
	live  context.Context
	end   context.CancelFunc
	looks sync.WaitGroup

	mu      sync.Mutex
	client  *sqs.Client
	urls    map[name]string
	routes  map[string]*route // by queue of the policy: what was last said of them
	looking map[string]*look  // by queue of the policy: the one that this process makes
}

func open(c backends.Config) (*Store, error) {
	if err := check(c); err != nil {
		return nil, err
	}
	s := &Store{
		backend: c.Backend.(*Backend), env: c.Env, sources: map[string]*Source{}, snapshots: c.Snapshots,
		poll: time.Second, urls: map[name]string{}, routes: map[string]*route{}, looking: map[string]*look{},
	}
	for queue, src := range c.Sources {
		s.sources[queue] = src.(*Source)
	}
	s.live, s.end = context.WithCancel(context.Background())
	return s, nil
}

// api is the client, made by the first call that needs it.
func (s *Store) api(ctx context.Context) (*sqs.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	c, err := connect(ctx, s.backend, s.env)
	if err == nil {
		s.client = c
	}
	return c, err
}

func (s *Store) source(queue string) (*Source, error) {
	src := s.sources[queue]
	if src == nil {
		return nil, backends.Errorf(backends.BadMapping, nil, "this backend has no queue of that name")
	}
	return src, nil
}

// dlq is the dead-letter queue as SQS describes it now.
func (s *Store) dlq(ctx context.Context, queue string) (*queue, *Source, error) {
	src, err := s.source(queue)
	if err != nil {
		return nil, nil, err
	}
	n, _ := parseName(src.DLQ)
	q, err := s.describe(ctx, n, roleDLQ)
	return q, src, err
}

// Target is the queue's ARN, as SQS says it, behind the endpoint.
func (s *Store) Target(ctx context.Context, queue string) (backends.Target, error) {
	q, _, err := s.dlq(ctx, queue)
	if err != nil {
		return backends.Target{}, err
	}
	return s.target(q), nil
}

func (s *Store) target(q *queue) backends.Target {
	at := backends.Target{Store: "sqs", Place: q.arn, Via: "region " + s.backend.Region}
	if s.backend.Endpoint != "" {
		// An emulator's ARNs are not those of AWS.
		at.Store += " at " + s.backend.Endpoint
		at.Via += " at " + s.backend.Endpoint
	}
	if s.backend.Profile != "" {
		at.Via += " as profile " + s.backend.Profile
	}
	return at
}

// Can states facts of the store; it does not connect.
func (s *Store) Can(queue string) backends.Can {
	src := s.sources[queue]
	if src == nil {
		return backends.Can{}
	}
	return backends.Can{
		Random: true, Ordered: true, LookingCosts: true, Batch: batch, CountCap: 1 << 40,
		Effect: effect(src), Where: places(src),
	}
}

// Depth counts what can be received, is delayed or is in flight.
func (s *Store) Depth(ctx context.Context, queue string) (backends.Depth, error) {
	q, _, err := s.dlq(ctx, queue)
	if err != nil {
		return backends.Depth{}, err
	}
	return backends.Depth{Letters: q.visible + q.held + q.late}, nil
}

// Now is the moment up to which letters were seen.
func (s *Store) Now(context.Context, string) (time.Time, error) { return time.Now().UTC(), nil }

// Close ends looks under way and waits until they gave back what they hold.
func (s *Store) Close() error {
	s.end()
	s.looks.Wait()
	return nil
}
