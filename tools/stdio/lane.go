package stdio

import (
	"sync"
	"sync/atomic"
)

// lane runs jobs on a fixed number of workers and keeps a bounded number
// waiting, by count and by bytes: what a client sends may not fill the memory.
type lane struct {
	jobs  chan job
	held  atomic.Int64 // bytes of the messages that wait
	most  int64
	works sync.WaitGroup
}

type job struct {
	size int64
	run  func()
}

func newLane(workers, queue int, bytes int64) *lane {
	l := &lane{jobs: make(chan job, queue), most: bytes}
	for range workers {
		l.works.Go(l.work)
	}
	return l
}

func (l *lane) work() {
	for j := range l.jobs {
		l.held.Add(-j.size)
		j.run()
	}
}

// submit hands a job over, or says that there is no room for it.
func (l *lane) submit(size int, run func()) bool {
	j := job{size: int64(size), run: run}
	if l.held.Add(j.size) > l.most {
		l.held.Add(-j.size)
		return false
	}
	select {
	case l.jobs <- j:
		return true
	default:
		l.held.Add(-j.size)
		return false
	}
}

// close takes no more jobs; done is closed when the last has run.
func (l *lane) close() (done <-chan struct{}) {
	close(l.jobs)
	c := make(chan struct{})
	go func() {
		l.works.Wait()
		close(c)
	}()
	return c
}
