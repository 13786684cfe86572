package sqs

import (
	"context"
	"slices"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs/envelope"
)

// route is where the letters of a queue of the policy may go, as SQS describes
// the queues now.
type route struct {
	queue   string // of the policy
	src     *Source
	options envelope.Options
	dlq     *queue
	allowed []*queue          // by the policy; nil: where each came from
	origins map[string]*queue // by ARN: the queues whose dead letters come here
	place   string
	at      time.Time // when SQS was asked
}

// route asks SQS about the queues. That a queue behind the dead-letter queue, or
// what is allowed, cannot be described is said of the letters that would go there.
func (s *Store) route(ctx context.Context, of string) (*route, error) {
	dlq, src, err := s.dlq(ctx, of)
	if err != nil {
		return nil, err
	}
	r := &route{queue: of, src: src, dlq: dlq, origins: map[string]*queue{}, place: s.target(dlq).Letters(), options: src.options(), at: time.Now()}
	for _, d := range src.Destinations {
		n, _ := parseName(d)
		to, err := s.describe(ctx, n, roleDestination)
		if err != nil {
			return nil, err
		}
		r.allowed = append(r.allowed, to)
	}
	behind, err := s.behind(ctx, dlq)
	if err != nil && len(src.Destinations) == 0 {
		return nil, err
	}
	for _, q := range behind {
		r.origins[q.arn] = q
	}
	return r, nil
}

func (src *Source) options() envelope.Options {
	return envelope.Options{
		Message: src.Reason.Attributes.Message, Code: src.Reason.Attributes.Code, Stack: src.Reason.Attributes.Stack, Job: src.Job, Envelope: src.Envelope,
	}
}

// destination is where a letter goes that came from a queue, by its ARN; "" is one
// that SQS did not move here, whose origin nobody knows.
func (r *route) destination(from string) (to *queue, why string) {
	if len(r.allowed) == 0 {
		switch src := r.origins[from]; {
		case from == "":
			return nil, "it was not moved here by SQS, so it has no source queue; the policy must name its destinations"
		case src == nil:
			return nil, "its source queue has another dead-letter queue now, or is gone; the policy must name its destinations"
		default:
			return r.fit(src)
		}
	}
	if i := slices.IndexFunc(r.allowed, func(q *queue) bool { return q.arn == from }); i >= 0 {
		return r.fit(r.allowed[i])
	}
	switch {
	case from != "":
		return nil, "its source queue is not among the destinations of the policy"
	case len(r.allowed) > 1:
		return nil, "it has no source queue, and the policy names more than one destination"
	}
	return r.fit(r.allowed[0])
}

func (r *route) fit(to *queue) (*queue, string) {
	switch {
	case to.arn == r.dlq.arn:
		return nil, "its destination is the dead-letter queue itself"
	case to.fifo() != r.dlq.fifo():
		return nil, "a FIFO queue and a standard one cannot pass messages to each other"
	}
	return to, ""
}

// effect says what a redrive does; it is part of every plan.
func effect(src *Source) string {
	to := "the queue that it came from"
	if len(src.Destinations) > 0 {
		to = "its source queue or the one destination of the policy"
	}
	return "each message is found again by its id and compared, sent to " + to + " under a new id, and then deleted from the dead-letter queue; its receive count begins anew"
}

func places(src *Source) []backends.Place {
	reason := "the record of EventBridge or Lambda, where the body or the attributes are one; SQS itself keeps no error"
	if src.Reason.Attributes.Message != "" {
		reason = "message attribute " + src.Reason.Attributes.Message
	}
	return []backends.Place{
		{Fact: "reason", Where: reason},
		{Fact: "payload", Where: "the body, as it was received"},
		{Fact: "attempts", Where: "ApproximateReceiveCount less our own looks; the limit is maxReceiveCount of the source queue"},
		{Fact: "times", Where: "SentTimestamp; SQS tells no time of death"},
		{Fact: "origin", Where: "DeadLetterQueueSourceArn, where SQS moved the message"},
	}
}
