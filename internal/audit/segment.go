package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

const (
	segmentDigits = 12
	segmentSuffix = ".jsonl"
	tornPrefix    = "torn-"
)

// segmentName is the name of the segment whose first record has this seq. Twelve
// digits keep names in the order of their numbers.
func segmentName(first uint64) string {
	return fmt.Sprintf("%0*d%s", segmentDigits, first, segmentSuffix)
}

// segmentFirst returns the seq in a segment's name; ok is false for other files,
// which are ignored.
func segmentFirst(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) < segmentDigits {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil && segmentName(first) == name
}

// segments returns the names of the segments, oldest first, and of the torn
// ends that were set aside.
func segments(dir *durable.Folder) (names, torn []string, err error) {
	all, err := dir.Names()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range all {
		if _, ok := segmentFirst(name); ok {
			names = append(names, name)
		} else if strings.HasPrefix(name, tornPrefix) {
			torn = append(torn, name)
		}
	}
	return names, torn, nil
}

// place is where a line stands.
type place struct {
	segment string
	line    int   // from 1
	offset  int64 // of its first byte
}

// eachLine calls visit for every line of a segment, without its newline and
// valid during the call only, until it returns false. ended is nil for a line
// with a newline, io.EOF for bytes without one at the end, and
// bufio.ErrBufferFull for a part of a line many times longer than a record.
func eachLine(ctx context.Context, dir *durable.Folder, name string, offset int64, visit func(at place, raw []byte, ended error) bool) error {
	file, err := dir.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("reading segment %s: %w", name, err)
	}
	in := bufio.NewReaderSize(file, 16*MaxLine)
	for at := (place{name, 1, offset}); ; at.line++ {
		if at.line%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		raw, err := in.ReadSlice('\n')
		if len(raw) > 0 && !visit(at, bytes.TrimSuffix(raw, []byte("\n")), err) {
			return nil
		}
		at.offset += int64(len(raw))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("reading segment %s: %w", name, err)
		}
	}
}
