package backends

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Ref names one death of one message. A guard that compares less than the
// whole Ref would also match the next death of the same message.
type Ref struct {
	Queue  string   // the queue's name in the policy
	ID     string   // the store's own id, spelled as the store returns it
	Mark   string   // which death: the time of death, a score, a row version
	Digest [32]byte // SHA-256 of the envelope: see Envelope
}

// Hex is the digest in hexadecimal.
func (r Ref) Hex() string { return hex.EncodeToString(r.Digest[:]) }

// Envelope collects every field that the consumer of a message will see, in an
// order that the store fixes. Each name and value is preceded by its length as
// eight bytes, so that no two lists of fields give the same bytes; an absent
// value differs from an empty one.
type Envelope struct {
	h     hash.Hash
	head  []byte // of the field in hand, used again for the next
	bytes []byte
	keep  bool
}

// NewEnvelope starts an envelope. With keep its bytes can be read afterwards.
func NewEnvelope(keep bool) *Envelope { return &Envelope{h: sha256.New(), keep: keep} }

// Add appends one field. A nil value means that the field is absent (NULL).
func (e *Envelope) Add(name string, value []byte) {
	e.head = binary.BigEndian.AppendUint64(e.head[:0], uint64(len(name)))
	e.head = append(e.head, name...)
	if value == nil {
		e.head = append(e.head, 0)
	} else {
		e.head = binary.BigEndian.AppendUint64(append(e.head, 1), uint64(len(value)))
	}
	e.write(e.head)
	e.write(value)
}

// Digest is the SHA-256 of what was added so far.
func (e *Envelope) Digest() (d [32]byte) {
	e.h.Sum(d[:0])
	return d
}

// Bytes are the envelope's bytes, nil unless it keeps them.
func (e *Envelope) Bytes() []byte { return e.bytes }

func (e *Envelope) write(p []byte) {
	e.h.Write(p)
	if e.keep {
		e.bytes = append(e.bytes, p...)
	}
}
