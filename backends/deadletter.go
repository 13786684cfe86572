package backends

import "time"

// DeadLetter is one failed message or job, of the same shape whatever the
// store. A fact that the store does not have is absent (its zero value), never
// invented.
type DeadLetter struct {
	Ref
	Reason   Reason
	Payload  Payload
	Attempts Attempts
	Times    Times
	Origin   Origin
	// Attributes are further fields that the consumer will see (priority,
	// tenant, headers …), in the store's order.
	Attributes []Attribute
	// ListOnly says in a sentence why the letter cannot be redriven, such as a
	// record that does not hold the message. Empty: it can.
	ListOnly string
	// Expires is when the store's own retention deletes the letter, zero if unknown.
	Expires time.Time
	// Envelope is the bytes behind Ref.Digest, filled only if Query.Bodies is set.
	Envelope []byte
	// After is the position from which a later Scan goes on behind this letter.
	After string
}

// Reason is why the message died.
type Reason struct {
	Message Text
	Code    Text   // the store's own code or error type, if it has one
	Stack   Text   // newest first, if the store keeps one
	Verdict Class  // the store's own verdict, Unknown if it has none
	Source  string // where it was found: row, attribute, envelope, lookup, none
}

// Class says what a redrive may hope for.
type Class string

const (
	Permanent Class = "permanent"  // the same bytes will fail again
	Transient Class = "transient"  // the cause may be over
	NotFailed Class = "not_failed" // the handler did not fail: a stall, a timeout, a batch-mate
	Unknown   Class = "unknown"
)

// Payload is the body that the consumer gets.
type Payload struct {
	Bytes       []byte // nil unless Query.Bodies; borrowed until the next step of the scan
	Size        int    // in bytes, -1 if unknown without reading the body
	ContentType string // application/json, text/plain, application/octet-stream …
	Provenance  Provenance
	Patchable   bool
	// WhyNot says in a sentence why the payload cannot be patched.
	WhyNot string
}

// Provenance says whether the bytes are surely those that first arrived.
type Provenance string

const (
	AsReceived Provenance = "as_received" // the store cannot change a body
	AsStored   Provenance = "as_stored"   // what the store holds now
)

// Attempts counts deliveries; -1 means that the store does not know.
type Attempts struct{ Made, Limit int }

// Times are in UTC; zero means that the store does not know.
type Times struct{ Enqueued, LastAttempt, Dead time.Time }

// Origin is where the message came from.
type Origin struct {
	Queue Text // the store's own queue name
	Group Text // the worker group or consumer
	Job   Text // the job's or handler's name
}

// Attribute is one further field of a letter.
type Attribute struct{ Name, Value Text }
