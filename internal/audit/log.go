package audit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// ErrClosed is wrapped by every call after the log was closed or failed.
var ErrClosed = errors.New("the audit log takes no more records")

// Options of a Log; zero values mean what is said here.
type Options struct {
	Clock        func() time.Time // time.Now
	Host         string           // the machine's name
	PID          int              // of this process
	Mode         string           // written where a record has none
	LockTimeout  time.Duration    // 5 s
	SegmentBytes int64            // 64 MiB, after which a new segment is begun
}

func (o Options) filled() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname()
	}
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 5 * time.Second
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	return o
}

// Log appends to the log of one state folder. Its methods may be called by
// several goroutines, and several processes may append to the same log.
type Log struct {
	opts     Options
	dir      *subFolder // audit/
	objects  *subFolder
	erasable *subFolder

	requests chan *request
	closing  chan struct{}
	stopped  chan struct{}
	start    sync.Once
	close    sync.Once
	refused  tallies

	// Only the writing goroutine uses these.
	last   Head
	failed error // the first failed write; after it only kept phases pass
	dead   bool  // what is on disk is not known; nothing passes

	// Seams for tests of failing disks.
	write func(*os.File, []byte) (int, error)
	flush func(*os.File) error
}

// Open returns the log of a state folder. Nothing is made or read before the
// first use: a missing log begins with the first Append.
func Open(state *durable.Folder, opts Options) (*Log, error) {
	if state == nil {
		return nil, errors.New("opening the audit log: no state folder")
	}
	l := &Log{
		opts:     opts.filled(),
		dir:      &subFolder{state: state, name: logFolder},
		objects:  &subFolder{state: state, name: objectFolder},
		erasable: &subFolder{state: state, name: erasableFolder},
		requests: make(chan *request), closing: make(chan struct{}), stopped: make(chan struct{}),
		write: (*os.File).Write, flush: durable.DataSync,
	}
	return l, nil
}

// HeadNow returns the newest record's Head; its Hash is empty if there is none.
func (l *Log) HeadNow() (Head, error) {
	dir, err := l.dir.open()
	if err != nil {
		return Head{}, fmt.Errorf("reading the audit log: %w", err)
	}
	t, err := readTail(dir, os.O_RDONLY)
	if err != nil {
		return Head{}, fmt.Errorf("reading the audit log: %w", err)
	}
	defer t.close()
	if t.next == 0 {
		return Head{}, nil
	}
	return t.head(), nil
}

// Close writes the counts of refusals that are still held and ends the writing
// goroutine; its error says what of that failed. The state folder stays open.
func (l *Log) Close() error {
	var err error
	l.close.Do(func() {
		err = l.flushRefused()
		close(l.closing)
		l.start.Do(func() { close(l.stopped) })
		<-l.stopped
		err = errors.Join(err, l.dir.close(), l.objects.close(), l.erasable.close())
	})
	return err
}
