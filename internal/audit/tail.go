package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// ErrDamaged is wrapped where the log is not what this program wrote: its last
// record does not hold, or records that were there are gone. Nothing is
// appended to such a log; Verify says what is wrong.
var ErrDamaged = errors.New("the audit log was changed or damaged; run audit verify")

// tail is the end of the log. Its file is the newest segment, nil without one.
type tail struct {
	chain
	name string
	file *os.File
	size int64 // up to and including the last newline
	torn int64 // bytes after it, which no writer was ever told are safe
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// readTail reads the end of the log with as little as it takes: the last line
// of the newest segment, or of the one before if a crash left the newest one
// without a whole line.
func readTail(dir *durable.Folder, flag int) (*tail, error) {
	names, _, err := segments(dir)
	if err != nil || len(names) == 0 {
		return &tail{chain: chain{prev: noHash}}, err
	}
	t := &tail{chain: chain{prev: noHash}, name: names[len(names)-1]}
	if t.file, err = dir.OpenFile(t.name, flag); err != nil {
		return nil, err
	}
	raw, err := t.measure()
	if err == nil && raw == nil && len(names) > 1 {
		raw, err = lastOf(dir, names[len(names)-2])
	}
	if err == nil && raw != nil {
		err = t.follow(raw)
	}
	if err == nil && t.size == 0 && (t.name != segmentName(t.next) || t.next > 0 && t.phase != PhaseRotate) {
		err = fmt.Errorf("%w: segment %s is empty and does not continue the one before", ErrDamaged, t.name)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// measure finds the last newline and returns the line before it, or nil. Only
// what a newline ends was written as a whole.
func (t *tail) measure() ([]byte, error) {
	info, err := t.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the end of %s: %w", t.name, err)
	}
	raw, end, err := lastLine(t.file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("reading the end of %s: %w", t.name, err)
	}
	t.size, t.torn = end, info.Size()-end
	return raw, nil
}

// lastOf returns the last line of a finished segment. Nobody writes to it any
// more, so a torn end there is no crash.
func lastOf(dir *durable.Folder, name string) ([]byte, error) {
	t := &tail{name: name}
	var err error
	if t.file, err = dir.OpenFile(name, os.O_RDONLY); err != nil {
		return nil, err
	}
	defer t.close()
	raw, err := t.measure()
	if err == nil && (raw == nil || t.torn > 0) {
		err = fmt.Errorf("%w: %s does not end with a record", ErrDamaged, name)
	}
	return raw, err
}

// follow checks the last line and continues from it.
func (t *tail) follow(raw []byte) error {
	l, err := checked(raw)
	d := decoder{l: &l}
	if err == nil {
		t.chain = chain{next: l.seq + 1, prev: d.str(keyHash), log: d.str(keyLog), ts: d.time(), phase: d.str(keyPhase)}
		err = d.err
	}
	if err != nil {
		return fmt.Errorf("the end of %s: %w", t.name, err)
	}
	if l.seq == 0 {
		t.log = t.prev
	}
	return nil
}

// checked takes a line apart whose hash holds. Every append does this, so it
// leaves out what nobody asks of the last record: its items and arguments.
func checked(raw []byte) (l line, err error) {
	if len(raw) >= MaxLine || !sealed(raw) {
		return l, fmt.Errorf("%w: a record's hash does not match its bytes", ErrDamaged)
	}
	if err := l.scan(raw); err != nil {
		return l, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if v := string(l.vals[keyV]); v != strconv.Itoa(Version) {
		return l, fmt.Errorf("the log has format version %s, this program knows %d", v, Version)
	}
	return l, nil
}

// lastLine returns the last whole line before end, without its newline, and the
// offset behind that newline; nil and 0 if there is none. A line too long to be
// a record is returned as far as MaxLine, so that it is found out.
func lastLine(in io.ReaderAt, end int64) ([]byte, int64, error) {
	last, err := newlineBefore(in, end)
	if err != nil || last < 0 {
		return nil, 0, err
	}
	before, err := newlineBefore(in, last)
	if err != nil {
		return nil, 0, err
	}
	raw := make([]byte, min(last-before-1, MaxLine))
	if _, err := in.ReadAt(raw, before+1); err != nil {
		return nil, 0, err
	}
	return raw, last + 1, nil
}

// newlineBefore returns the offset of the last newline before end, or -1. It
// reads backwards as far as it must, in little memory: a crash can leave any
// number of bytes behind the last newline.
func newlineBefore(in io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, MaxLine)
	for end > 0 {
		start := max(0, end-int64(len(buf)))
		part := buf[:end-start]
		if _, err := in.ReadAt(part, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i), nil
		}
		end = start
	}
	return -1, nil
}
