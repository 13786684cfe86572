package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Contains says whether the log has a record of this seq with this hash, and
// whether that hash is the one of its bytes.
func (l *Log) Contains(seq uint64, hash string) (bool, error) {
	raw, err := l.lineOf(seq)
	if err != nil {
		return false, fmt.Errorf("looking for record %d: %w", seq, err)
	}
	var found line
	return raw != nil && sealed(raw) && found.scan(raw) == nil && string(found.text(keyHash)) == hash, nil
}

// Find returns the record of this seq with this hash; ok says whether the log
// Contains it.
func (l *Log) Find(seq uint64, hash string) (r Record, ok bool, err error) {
	raw, err := l.lineOf(seq)
	if err != nil {
		return r, false, fmt.Errorf("looking for record %d: %w", seq, err)
	}
	if raw == nil || !sealed(raw) {
		return r, false, nil
	}
	r, err = decode(raw)
	return r, err == nil && r.Hash == hash, nil
}

// lineOf returns the line of a seq, or nil. It does not look at the rest: it
// finds the line by halving its segment.
func (l *Log) lineOf(seq uint64) ([]byte, error) {
	dir, err := l.dir.open()
	if err != nil {
		return nil, err
	}
	names, _, err := segments(dir)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	file, err := dir.OpenFile(startingAt(names, seq)[0], os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return find(file, info.Size(), seq)
}

// find returns the line of a seq, or nil: the seqs of a segment only grow.
func find(in io.ReaderAt, size int64, seq uint64) ([]byte, error) {
	low, high := int64(0), size
	for low < high {
		start, err := newlineBefore(in, low+(high-low)/2)
		if err != nil {
			return nil, err
		}
		start++
		raw, err := lineAt(in, start)
		if err != nil {
			return nil, err
		}
		if raw == nil { // torn bytes at the end: what is looked for lies before
			high = start
			continue
		}
		var l line
		if err := l.scan(raw); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		switch {
		case l.seq == seq:
			return raw, nil
		case l.seq < seq:
			low = start + int64(len(raw)) + 1
		default:
			high = start
		}
	}
	return nil, nil
}

// lineAt returns the line that begins at start, without its newline, or nil if
// no newline ends it.
func lineAt(in io.ReaderAt, start int64) ([]byte, error) {
	buf := make([]byte, MaxLine)
	n, err := in.ReadAt(buf, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	end := bytes.IndexByte(buf[:n], '\n')
	if end < 0 {
		return nil, nil
	}
	return buf[:end], nil
}
