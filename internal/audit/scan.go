package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// Positions of the keys in a line.
const (
	keyV = iota
	keySeq
	keyPrev
	keyTS
	keyLog
	keyOp
	keyPhase
	keyActor
	keyClient
	keySession
	keyMode
	keyProof
	keyTool
	keyArgs
	keyQueue
	keyItems
	keyPolicy
	keyRule
	keyEffect
	keyWhy
	keyPlan
	keyRun
	keyOutcome
	keyErr
	keyDurMS
	keyHost
	keyPID
	keyHash
	keyCount
)

var keys = [keyCount]string{
	"v", "seq", "prev", "ts", "log", "op", "phase", "actor", "client", "session", "mode", "proof", "tool", "args",
	"queue", "items", "policy", "rule", "effect", "why", "plan", "run", "outcome", "err", "dur_ms", "host", "pid", "hash",
}

// line is a record taken apart: the JSON values as they stand, nil where the
// key is absent. It borrows the bytes it was scanned from.
type line struct {
	seq  uint64
	vals [keyCount][]byte
}

// text returns a string value that holds no escapes, such as a hash, a time or
// a phase.
func (l *line) text(key int) []byte {
	if v := l.vals[key]; len(v) >= 2 {
		return v[1 : len(v)-1]
	}
	return nil
}

// sealed says whether the hash at the end of a line is that of its bytes.
func sealed(raw []byte) bool {
	n := len(raw) - sealLen
	if n < 0 || string(raw[n:n+9]) != `,"hash":"` || string(raw[len(raw)-2:]) != `"}` {
		return false
	}
	sum := sha256.Sum256(raw[:n])
	var digits [hashLen]byte
	hex.Encode(digits[:], sum[:])
	return bytes.Equal(digits[:], raw[n+9:n+9+hashLen])
}

var errShape = errors.New("it is not a record of this format")

// scan takes a line apart by hand: known keys in their order, each once, values
// of the right kind, printable ASCII. A general JSON decoder is ten times
// slower and accepts unordered and doubled keys.
func (l *line) scan(raw []byte) error {
	l.vals = [keyCount][]byte{}
	if len(raw) == 0 || raw[0] != '{' {
		return errShape
	}
	i, key := 1, -1
	for {
		var end int
		if key, end = nextKey(raw, i, key); key < 0 {
			return fmt.Errorf("%w: unknown key, or keys out of order, near byte %d", errShape, i)
		}
		if i = skipKind(raw, end, key); i < 0 {
			return fmt.Errorf("%w: the value of %s", errShape, keys[key])
		}
		l.vals[key] = raw[end:i]
		if i < len(raw) && raw[i] == ',' {
			i++
			continue
		}
		if i != len(raw)-1 || raw[i] != '}' {
			return fmt.Errorf("%w: near byte %d", errShape, i)
		}
		return l.check()
	}
}

// nextKey returns the position of the key at i, which must come after last in
// the order, and where its value begins; or -1.
func nextKey(raw []byte, i, last int) (key, end int) {
	if i >= len(raw) || raw[i] != '"' {
		return -1, i
	}
	rest := raw[i+1:]
	for key = last + 1; key < keyCount; key++ {
		n := len(keys[key])
		if len(rest) > n+2 && rest[n] == '"' && rest[n+1] == ':' && string(rest[:n]) == keys[key] {
			return key, i + n + 3
		}
	}
	return -1, i
}

// skipKind returns the end of the value at i, or -1 if it is not of the kind
// that the key demands.
func skipKind(raw []byte, i, key int) int {
	if i >= len(raw) {
		return -1
	}
	first := raw[i]
	switch key {
	case keyV, keySeq, keyDurMS, keyPID:
		return skipNumber(raw, i)
	case keyArgs:
		if first != '{' {
			return -1
		}
		return skipValue(raw, i, 0)
	case keyItems:
		if first != '[' {
			return -1
		}
		return skipValue(raw, i, 0)
	}
	return skipString(raw, i)
}

// check looks at the fields that every record has. Their order was checked on
// the way, so it is enough that none is missing.
func (l *line) check() error {
	for _, key := range [...]int{keyV, keySeq, keyPrev, keyTS, keyLog, keyOp, keyPhase, keyHash} {
		if l.vals[key] == nil {
			return fmt.Errorf("%w: no %s", errShape, keys[key])
		}
	}
	seq, err := strconv.ParseUint(string(l.vals[keySeq]), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: seq", errShape)
	}
	l.seq = seq
	if !isTime(l.text(keyTS)) {
		return fmt.Errorf("%w: ts", errShape)
	}
	if len(l.text(keyPrev)) != hashLen || len(l.text(keyHash)) != hashLen {
		return fmt.Errorf("%w: prev or hash", errShape)
	}
	return nil
}

// isTime checks the shape of a time, so that times compare as bytes do.
func isTime(s []byte) bool {
	const shape = "0000-00-00T00:00:00.000000Z"
	if len(s) != len(shape) {
		return false
	}
	for i, c := range s {
		if shape[i] == '0' && (c < '0' || c > '9') || shape[i] != '0' && c != shape[i] {
			return false
		}
	}
	return true
}
