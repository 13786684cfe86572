package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is how large one message may be, in bytes: far more than any that is
// accepted, so that one which is too large is told so under its id.
const maxLine = 16 << 20

// byteOrderMark is what some systems put before a text in UTF-8. RFC 8259 lets a
// reader pass over it.
const byteOrderMark = "\ufeff"

// line is one line of the input without its newline.
type line struct {
	data    []byte
	tooLong bool // more than the limit; data is empty
}

// readLines gives every line that is not blank to emit until that says no or the
// input ends. The last line counts with or without a newline, the first with or
// without a byte order mark. A line over the limit is passed over without being
// kept.
func readLines(r io.Reader, limit int, emit func(line) bool) error {
	b := bufio.NewReaderSize(r, 64<<10)
	mark, _ := b.Peek(len(byteOrderMark)) // its error comes again
	if string(mark) == byteOrderMark {
		b.Discard(len(mark))
	}
	var l line
	for {
		part, err := b.ReadSlice('\n')
		if len(l.data)+len(part) > limit {
			l = line{tooLong: true}
		}
		if !l.tooLong {
			l.data = append(l.data, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) { // the line goes on
			continue
		}
		l.data = bytes.TrimSpace(l.data)
		if (len(l.data) > 0 || l.tooLong) && !emit(l) {
			return nil
		}
		l = line{}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
