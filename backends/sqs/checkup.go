package sqs

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// mostRetention is the longest that SQS keeps a message (Amazon SQS quotas).
const mostRetention = 14 * 24 * time.Hour

// CheckUp asks SQS about the queues and says what will bite. Nothing is received.
// Whether we may send and delete cannot be asked.
func (s *Store) CheckUp(ctx context.Context, queue string) (warnings []string, err error) {
	r, err := s.route(ctx, queue)
	if err != nil {
		return nil, err
	}
	if r.dlq.retention < mostRetention {
		warnings = append(warnings, fmt.Sprintf("the dead-letter queue keeps messages for %s; 14 days is the most, and a letter that nobody looked at by then is gone", days(r.dlq.retention)))
	}
	if r.dlq.redrive.Target != "" {
		warnings = append(warnings, fmt.Sprintf("the dead-letter queue has a redrive policy of its own: after %d receives, looks among them, SQS moves a message on", r.dlq.redrive.Max))
	}
	for _, src := range r.origins {
		warnings = append(warnings, r.source(src)...)
	}
	if len(r.origins) == 0 {
		warnings = append(warnings, "no queue that we can see has this one as its dead-letter queue")
	}
	for _, to := range r.allowed {
		if _, why := r.fit(to); why != "" {
			return warnings, backends.Errorf(backends.BadMapping, nil, "%s", why)
		}
	}
	return append(warnings,
		"whether messages may be sent and deleted can only be seen by doing it",
		"no alarm is known: "+alarm(r.dlq)), nil
}

// source says what is wrong with a queue whose dead letters come here.
func (r *route) source(src *queue) (out []string) {
	name := "the queue " + src.name()
	if r.dlq.retention < src.retention && !r.dlq.fifo() {
		out = append(out, fmt.Sprintf("%s keeps messages for %s and its dead-letter queue for %s, counted from the same moment: old messages are deleted as they arrive", name, days(src.retention), days(r.dlq.retention)))
	}
	switch n := int(src.redrive.Max); {
	case n == 1:
		out = append(out, name+" gives a message one receive: a timeout or a deployment is enough to kill it")
	case n > 10:
		out = append(out, fmt.Sprintf("%s gives a message %d receives: a poison message holds its consumers up for long", name, n))
	}
	return out
}

func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}

// alarm is a command that makes the alarm which everybody should have.
func alarm(q *queue) string {
	return "aws cloudwatch put-metric-alarm --alarm-name " + q.name() + "-not-empty --namespace AWS/SQS --metric-name ApproximateNumberOfMessagesVisible --dimensions Name=QueueName,Value=" + q.name() +
		" --statistic Maximum --period 60 --evaluation-periods 1 --threshold 0 --comparison-operator GreaterThanThreshold --alarm-actions YOUR_SNS_TOPIC_ARN"
}
