package envelope

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// The kinds of envelopes, as Letter.Producer and Options.Envelope have them.
const (
	LambdaDestination    = "lambda_destination"    // the on-failure record of an asynchronous invocation
	LambdaDLQ            = "lambda_dlq"            // the dead-letter queue of a function: the event, and attributes
	StreamMapping        = "stream_mapping"        // where a batch of a stream is, without its records
	EventBridgeRule      = "eventbridge_rule"      // the event, and attributes
	EventBridgeScheduler = "eventbridge_scheduler" // the request to the target, and attributes
	EventBus             = "event_bus"             // a custom event bus: what failed, without the events
	SNS                  = "sns"                   // a notification with its envelope
	S3Pointer            = "s3_pointer"            // where the payload is in S3
	Plain                = "plain"                 // nothing of the above
)

// None as Options.Envelope switches the reading of envelopes off.
const None = "none"

// Kinds are the kinds that Options.Envelope may pin.
func Kinds() []string {
	return []string{LambdaDestination, LambdaDLQ, StreamMapping, EventBridgeRule, EventBridgeScheduler, EventBus, SNS, S3Pointer}
}

// Message is a message as SQS hands it out.
type Message struct {
	Body       []byte
	Attributes map[string]Attribute
	// Moved says that SQS itself moved it here from a source queue: it has a
	// DeadLetterQueueSourceArn.
	Moved bool
}

// Attribute is a message attribute: its type as SQS has it (String, Number,
// Binary, each with a label of the sender's or without), and its value.
type Attribute struct {
	Type  string
	Value []byte
}

// Options are what the policy says of a queue.
type Options struct {
	// Envelope is empty (recognise every kind), None, or a kind: then no other is
	// taken, and a message without it is list-only. An S3 pointer is recognised
	// always, so that nobody patches one.
	Envelope string
	// Names of message attributes in which the sender or the worker put the reason
	// and the job. Those that are there win over the envelope.
	Message, Code, Stack, Job string
}

// Letter is what the envelope of a message says about the failed work.
type Letter struct {
	Producer string // the kind of envelope that was taken, or Plain
	// Reason has the Verdict Unknown: no producer says whether the same bytes would
	// fail again. Its Source is attribute, envelope or none.
	Reason   backends.Reason
	Attempts int           // how often the producer tried, -1 if it does not say
	Job      backends.Text // short name of the function, rule, schedule, pipe, subscriber or topic
	Group    backends.Text // ARN of what should have got the message, where it is stated
	Dead     time.Time     // when the producer gave up, zero if it does not say
	// Payload is what the consumer expects: the body or a part of it.
	Payload []byte
	// WhyNot says why the envelope forbids to patch the payload. Empty: it does not.
	WhyNot string
	// ListOnly says in a sentence why the message cannot be redriven. Empty: it can.
	ListOnly string
	// Drop are the attributes that the producer added when it gave up, sorted. The
	// consumer never saw them, so they are not sent again.
	Drop []string
}

// Read reads the envelope of a message. What it does not recognise is plain.
func Read(m Message, o Options) Letter {
	body := openBody(m.Body)
	l := Letter{Producer: Plain, Attempts: -1, Payload: m.Body}
	l.Reason = backends.Reason{Verdict: backends.Unknown, Source: "none"}
	for _, k := range readers {
		if !o.takes(k, m.Moved) {
			continue
		}
		if taken, ok := k.read(m, body); ok {
			l = taken.completed(k.name, m.Body)
			break
		}
	}
	if pinned(o.Envelope) && l.Producer != o.Envelope {
		l.ListOnly = "The policy says that this queue has messages of the kind " + o.Envelope + ", and this is not one."
	}
	if l.WhyNot == "" && isPointer(l.Payload) {
		l.WhyNot = inS3
	}
	o.named(m, &l)
	return l
}

// reader reads one kind of envelope. strips says that it takes something off the
// message, so that what is redriven is less than what is here, or nothing.
type reader struct {
	name   string
	strips bool
	read   func(m Message, b body) (Letter, bool)
}

// readers come in the order in which they are tried: first those that look at
// attributes, which the one who writes the body of an event has no hand in.
var readers = []reader{
	{EventBridgeRule, true, readRule},
	{EventBridgeScheduler, true, readSchedule},
	{LambdaDLQ, true, readLambdaDLQ},
	{LambdaDestination, true, readDestination},
	{StreamMapping, true, readMapping},
	{EventBus, true, readBus},
	{SNS, false, readSNS},
	{S3Pointer, false, readPointer},
}

// takes reports whether a kind is tried at all.
func (o Options) takes(k reader, moved bool) bool {
	switch o.Envelope {
	case "":
		return !moved || !k.strips
	case k.name:
		return true
	}
	return k.name == S3Pointer
}

func pinned(kind string) bool { return slices.Contains(Kinds(), kind) }

// completed fills in what a reader left out.
func (l Letter) completed(name string, body []byte) Letter {
	l.Producer = name
	if l.Payload == nil {
		l.Payload = body
	}
	l.Reason.Verdict = backends.Unknown
	if l.Reason.Source == "" {
		l.Reason.Source = "none"
	}
	slices.Sort(l.Drop)
	return l
}

// The most bytes of a text that is taken out of an envelope or an attribute. The
// body has the rest of it.
const (
	maxProse = 64 << 10
	maxWord  = 2 << 10
)

// prose is a message or a stack, word a name or a code.
func prose(s string) backends.Text { return backends.Hostile(cut(s, maxProse)) }
func word(s string) backends.Text  { return backends.Hostile(cut(s, maxWord)) }

// cut shortens a text to n bytes, never within a character, and shows that it did.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
