package plan

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// Salt keeps a commitment from being guessed. There is a fresh one an item.
type Salt [32]byte

// NewSalt draws a salt.
func NewSalt() (s Salt) {
	rand.Read(s[:]) // never fails: see crypto/rand
	return s
}

// Before commits to a message as it is: SHA-256(salt ‖ SHA-256(envelope)).
func Before(s Salt, envelope [32]byte) string {
	return hash(s[:], envelope[:])
}

// After commits to the same envelope with another body:
// SHA-256(salt ‖ SHA-256(envelope) ‖ SHA-256(body)).
func After(s Salt, envelope [32]byte, body []byte) string {
	sum := sha256.Sum256(body)
	return hash(s[:], envelope[:], sum[:])
}

// Binds reports whether a message and the body to be sent are those that the
// item commits to. body is nil where the stored one is sent.
func (i Item) Binds(s Salt, envelope [32]byte, body []byte) bool {
	if i.Before != Before(s, envelope) {
		return false
	}
	if body == nil {
		return i.After == ""
	}
	return i.After == After(s, envelope, body)
}

func hash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
