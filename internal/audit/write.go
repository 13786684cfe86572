package audit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

const lockName = "lock"

// appendBatch does the whole of one write under the lock between processes:
// read the tail, mend it, write, flush.
func (l *Log) appendBatch(batch []*request) error {
	dir, err := l.dir.open()
	if err != nil {
		return fmt.Errorf("appending to the audit log: %w", err)
	}
	lock, err := dir.Lock(context.Background(), lockName, l.opts.LockTimeout)
	if err != nil {
		return fmt.Errorf("appending to the audit log: %w", err)
	}
	err = l.appendLocked(dir, batch)
	if unlockErr := lock.Unlock(); err == nil {
		err = unlockErr
	}
	if err != nil {
		return fmt.Errorf("appending to the audit log: %w", err)
	}
	return nil
}

// appendLocked reads the tail anew each time: other processes write too, and
// what this one remembers is only good for noticing that the log was cut.
func (l *Log) appendLocked(dir *durable.Folder, batch []*request) error {
	if err := l.holdReserve(dir, batch); err != nil {
		return err
	}
	t, err := readTail(dir, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return err
	}
	defer t.close()
	if err := l.checkKnown(t); err != nil {
		return err
	}
	mended, err := l.mend(dir, t)
	if err != nil {
		return err
	}
	if err := l.turn(dir, t); err != nil {
		return err
	}
	if err := l.put(t, l.encode(t, mended, batch)); err != nil {
		return err
	}
	l.last = t.head()
	return nil
}

// checkKnown looks for what this process wrote last: it is the tail, or other
// processes have gone on behind it. A log that was cut, or put back to an older
// copy on which somebody went on, is not continued.
func (l *Log) checkKnown(t *tail) error {
	if l.last.Hash == "" || t.next > 0 && t.head() == l.last {
		return nil
	}
	if t.next > l.last.Seq+1 {
		if there, err := l.Contains(l.last.Seq, l.last.Hash); there || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: it no longer holds record %d, which this process wrote", ErrDamaged, l.last.Seq)
}

// encode makes the lines of a batch, behind the first record of a new log and
// the record of a mended tail.
func (l *Log) encode(t *tail, mended []Record, batch []*request) []byte {
	now := l.opts.Clock()
	var buf []byte
	if t.next == 0 {
		buf = t.add(buf, l.filled(firstRecord()), now)
	}
	for _, r := range mended {
		buf = t.add(buf, l.filled(r), now)
	}
	for _, req := range batch {
		for _, r := range req.recs {
			buf = t.add(buf, l.filled(r), now)
		}
		req.head = t.head()
	}
	return buf
}

// firstRecord holds a nonce, else two logs begun alike would have one id.
func firstRecord() Record {
	var nonce [32]byte
	rand.Read(nonce[:])
	return Record{Phase: PhaseStart, Args: []Arg{{"nonce", hex.EncodeToString(nonce[:])}}}
}

// filled adds what is the same for all records of this process.
func (l *Log) filled(r Record) Record {
	if r.Host == "" {
		r.Host = l.opts.Host
	}
	if r.PID == 0 {
		r.PID = l.opts.PID
	}
	if r.Mode == "" {
		r.Mode = l.opts.Mode
	}
	return r
}

// mend sets a torn tail aside and cuts it off: a writer died, or the power
// went, in the middle of a write that nobody was told had succeeded. The bytes
// are kept, because somebody may have cut a record to make it look torn.
func (l *Log) mend(dir *durable.Folder, t *tail) ([]Record, error) {
	if t.torn == 0 {
		return nil, nil
	}
	data, err := io.ReadAll(io.NewSectionReader(t.file, t.size, t.torn))
	if err != nil {
		return nil, fmt.Errorf("reading the torn end of %s: %w", t.name, err)
	}
	name := fmt.Sprintf("%s%s-%d", tornPrefix, l.opts.Clock().UTC().Format("20060102T150405.000000Z"), t.next)
	if err := dir.WriteNew(name, data); err != nil {
		return nil, err
	}
	if err := durable.Truncate(t.file, t.size); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return []Record{{
		Phase: PhaseRecovery,
		Args:  []Arg{{"segment", t.name}, {"bytes", len(data)}, {"sha256", hex.EncodeToString(sum[:])}, {"file", name}},
	}}, nil
}

// turn begins a new segment when the newest one is full or already closed by a
// rotate record. In between a crash leaves a closed segment, or a new one that
// is empty; both are found here again.
func (l *Log) turn(dir *durable.Folder, t *tail) error {
	if t.size >= l.opts.SegmentBytes && t.phase != PhaseRotate {
		r := l.filled(Record{Phase: PhaseRotate, Args: []Arg{{"next", segmentName(t.next + 1)}}})
		if err := l.put(t, t.add(nil, r, l.opts.Clock())); err != nil {
			return err
		}
	}
	if t.file != nil && (t.size == 0 || t.phase != PhaseRotate) {
		return nil
	}
	name := segmentName(t.next)
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	t.close()
	t.name, t.file, t.size = name, file, 0
	return dir.SyncDir()
}

// put appends bytes with one write and flushes them. A write that fails is cut
// off again under the lock, so that the log stays whole for everybody else; if
// that fails too, or the flush does, nobody knows what is on disk.
func (l *Log) put(t *tail, data []byte) error {
	n, err := l.write(t.file, data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return l.fail(err, durable.Truncate(t.file, t.size))
	}
	if err := l.flush(t.file); err != nil {
		return l.fail(nil, err)
	}
	t.size += int64(len(data))
	return nil
}

// fail remembers the first failure; a fatal one ends the log for all phases.
func (l *Log) fail(write, fatal error) error {
	err := errors.Join(write, fatal)
	if l.failed == nil {
		l.failed = err
	}
	l.dead = l.dead || fatal != nil
	return err
}
