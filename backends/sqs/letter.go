package sqs

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqs/envelope"
)

// parcel is a message with what is made of it: what a consumer would get, and
// where it would go.
type parcel struct {
	id     string
	facts  facts
	letter envelope.Letter
	fields []field // message attributes that are sent
	to     *queue  // nil: nowhere
	why    string  // it cannot be sent
}

// open takes a message apart.
func (r *route) open(id string, f facts, body []byte) *parcel {
	p := &parcel{id: id, facts: f, letter: r.read(&f, body)}
	for _, v := range f.Fields {
		if !slices.Contains(p.letter.Drop, v.Name) {
			p.fields = append(p.fields, v)
		}
	}
	p.to, p.why = r.destination(f.system(types.MessageSystemAttributeNameDeadLetterQueueSourceArn))
	if p.letter.ListOnly != "" {
		p.why = clause(p.letter.ListOnly)
	}
	return p
}

// clause makes a sentence fit into another one.
func clause(sentence string) string {
	return strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
}

// read takes an envelope apart.
func (r *route) read(f *facts, body []byte) envelope.Letter {
	m := envelope.Message{
		Body: body, Attributes: make(map[string]envelope.Attribute, len(f.Fields)),
		Moved: f.system(types.MessageSystemAttributeNameDeadLetterQueueSourceArn) != "",
	}
	for _, v := range f.Fields {
		m.Attributes[v.Name] = envelope.Attribute{Type: v.Type, Value: v.Value}
	}
	return envelope.Read(m, r.options)
}

// envelope lists what the consumer will see, and where: the destination, the
// body, the message attributes by name with their types, the trace header and the
// group. The ids and counts that SQS sets anew are not among them.
func (p *parcel) envelope(keep bool) *backends.Envelope {
	e := backends.NewEnvelope(keep)
	if p.to != nil {
		e.Add("destination", []byte(p.to.arn))
	}
	e.Add("body", p.letter.Payload)
	for _, v := range p.fields {
		e.Add("attribute", []byte(v.Name))
		e.Add(v.Type, v.Value)
	}
	for _, name := range []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAWSTraceHeader, types.MessageSystemAttributeNameMessageGroupId} {
		if v, ok := p.facts.System[string(name)]; ok {
			e.Add(string(name), []byte(v))
		}
	}
	return e
}

// ref names the death. SQS gives a message a new id whenever it is sent, and keeps
// the id and the time of sending while it moves to the dead-letter queue.
func (p *parcel) ref(queue string) backends.Ref {
	return backends.Ref{
		Queue: queue, ID: p.id, Digest: p.envelope(false).Digest(),
		Mark: strconv.FormatInt(p.facts.sent(), 10) + p.facts.system(types.MessageSystemAttributeNameSequenceNumber),
	}
}

// deadLetter is the parcel as the gate sees it. looks are the receives of our own.
func (r *route) deadLetter(p *parcel, looks, size int) backends.DeadLetter {
	l := &p.letter
	d := backends.DeadLetter{
		Ref:      backends.Ref{Queue: r.queue, ID: p.id, Mark: p.ref(r.queue).Mark},
		Reason:   l.Reason,
		Payload:  payload(l, size),
		Attempts: r.attempts(p, looks),
		Times:    backends.Times{Enqueued: milli(p.facts.sent()), Dead: l.Dead},
		Origin: backends.Origin{
			Queue: backends.Hostile(lastPart(p.facts.system(types.MessageSystemAttributeNameDeadLetterQueueSourceArn))),
			Group: l.Group, Job: l.Job,
		},
		ListOnly: p.why,
	}
	if !r.dlq.fifo() && r.dlq.retention > 0 && p.facts.sent() > 0 {
		// The clock of a standard queue goes on in the dead-letter queue; a FIFO
		// queue's begins again at the move, at a time that SQS does not tell.
		d.Expires = milli(p.facts.sent()).Add(r.dlq.retention)
	}
	for _, v := range p.fields {
		d.Attributes = append(d.Attributes, backends.Attribute{Name: backends.Hostile(v.Name), Value: backends.Hostile(shown(v))})
	}
	if group := p.facts.system(types.MessageSystemAttributeNameMessageGroupId); group != "" {
		d.Attributes = append(d.Attributes, backends.Attribute{Name: backends.Hostile("MessageGroupId"), Value: backends.Hostile(group)})
	}
	return d
}

// payload says what the payload is, and whether it can be patched.
func payload(l *envelope.Letter, size int) backends.Payload {
	p := backends.Payload{Size: size, ContentType: "application/octet-stream", Provenance: backends.AsReceived, WhyNot: l.WhyNot}
	strict := jsontext.Value(l.Payload).IsValid()
	switch {
	case strict:
		p.ContentType = "application/json"
	case utf8.Valid(l.Payload):
		p.ContentType = "text/plain"
	}
	if !strict && p.WhyNot == "" {
		p.WhyNot = "it is no strict JSON"
	}
	p.Patchable = p.WhyNot == ""
	return p
}

// attempts are the receives that were not ours. SQS counts them over all queues
// (ReceiveMessage); where less than one is left they were counted anew.
func (r *route) attempts(p *parcel, looks int) backends.Attempts {
	a := backends.Attempts{Made: p.facts.Receives - looks, Limit: -1}
	if a.Made < 1 {
		a.Made = -1
	}
	if p.letter.Attempts >= 0 {
		a.Made = p.letter.Attempts
	}
	if src := r.origins[p.facts.system(types.MessageSystemAttributeNameDeadLetterQueueSourceArn)]; src != nil && src.redrive.Max > 0 {
		a.Limit = int(src.redrive.Max)
	}
	return a
}

func shown(v field) string {
	if v.binary() {
		return strconv.Itoa(len(v.Value)) + " bytes of " + v.Type
	}
	return string(v.Value)
}

func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }
