package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// letter is a row of letters. columns and fields have one order.
type letter struct {
	key, place              int64
	id                      []byte
	rank, pass, gone, looks int64
	first, last, size       int64
	facts, body             []byte
	sum                     int64
}

const columns = "l.key, l.place, l.id, l.rank, l.pass, l.gone, l.looks, l.first, l.last, l.size, l.facts, l.body, l.sum"

func (l *letter) fields() []any {
	return []any{&l.key, &l.place, &l.id, &l.rank, &l.pass, &l.gone, &l.looks, &l.first, &l.last, &l.size, &l.facts, &l.body, &l.sum}
}

// checksum is over all but key, gone and itself. SQLite does not notice a bit
// that a disk turned over.
func (l *letter) checksum() int64 {
	b := make([]byte, 0, 128+len(l.id)+len(l.facts))
	for _, n := range []int64{l.place, l.rank, l.pass, l.looks, l.first, l.last, l.size, int64(len(l.id)), int64(len(l.facts))} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(append(append(b, l.id...), l.facts...), l.body...)
	return int64(crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// check finds what was not put there so.
func (l *letter) check() error {
	if l.sum != l.checksum() {
		return damaged("the letter in row %d is not as it was put there", l.key)
	}
	return nil
}

// digest of a body: equal ones are not written again.
func digest(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:]
}

// snapshot is the letter as the contract has it. The body is set by who read it.
func (l *letter) snapshot() *backends.Snapshot {
	return &backends.Snapshot{
		ID: string(l.id), Order: ^l.rank, Facts: l.facts, Size: int(l.size), Looks: int(l.looks),
		First: fromNanos(l.first), Last: fromNanos(l.last),
	}
}

// checkID refuses the one id that no position can name.
func checkID(id string) error {
	if id == "" {
		return backends.Errorf(backends.BadID, nil, "a letter without an id cannot be kept")
	}
	return nil
}

// some is the bytes and never nil, which would be NULL.
func some(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
