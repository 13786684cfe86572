package accounting

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one process of the program.
type process struct {
	kind   string
	cmd    *exec.Cmd
	stderr bytes.Buffer // to be read once ended is closed
	ended  chan struct{}
	began  time.Time

	mu     sync.Mutex
	killed bool // by us
}

// registry is what runs now, for those who kill.
type registry struct {
	mu   sync.Mutex
	live []*process
	took map[string]time.Duration // how long a command of a kind takes by itself
}

// start starts the program. Its output goes to out.
func (w *world) start(kind string, out io.Writer, args ...string) (p *process, input io.WriteCloser, err error) {
	p = &process{kind: kind, ended: make(chan struct{}), began: time.Now()}
	p.cmd = exec.Command(w.program, args...)
	p.cmd.Dir, p.cmd.Env = w.dir, w.env
	p.cmd.Stdout, p.cmd.Stderr = out, &p.stderr
	if input, err = p.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, nil, err
	}
	w.procs.add(p)
	go func() {
		p.cmd.Wait()
		w.procs.remove(p)
		w.listen(p)
		close(p.ended)
	}()
	return p, input, nil
}

// listen makes a fault of what a sound program never says.
func (w *world) listen(p *process) {
	said := p.stderr.String()
	for _, bad := range []string{"panic:", "fatal error:", "DATA RACE", "goroutine "} {
		if strings.Contains(said, bad) {
			w.fault("%s: %s", strings.Join(p.cmd.Args[1:], " "), said)
			return
		}
	}
	for line := range strings.Lines(said) {
		if strings.Contains(line, "internal error") {
			w.tally.say(line)
		}
	}
}

func (r *registry) add(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = append(r.live, p)
}

func (r *registry) remove(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = slices.DeleteFunc(r.live, func(q *process) bool { return q == p })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		if r.took == nil {
			r.took = map[string]time.Duration{}
		}
		r.took[p.kind] = (3*r.took[p.kind] + time.Since(p.began)) / 4
	}
}

// any is a process that runs now, or nil.
func (r *registry) any(rnd *rand.Rand) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.live) == 0 {
		return nil
	}
	return r.live[rnd.IntN(len(r.live))]
}

func (r *registry) all() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.live)
}

// moment is a random one in the life of a command of this kind.
func (r *registry) moment(rnd *rand.Rand, kind string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(rnd.Float64() * 1.2 * float64(max(r.took[kind], 20*time.Millisecond)))
}

// kill is SIGKILL.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	return p.cmd.Process.Kill() == nil
}

// freeze stops the process for a while by SIGSTOP.
func (p *process) freeze(ctx context.Context, d time.Duration) {
	if p.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		pause(ctx, d)
		p.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// result is what a command came to.
type result struct {
	code   int // -1 if it was killed
	out    []byte
	stderr string
}

// patience is how long a command may take at most, with all that is done to it.
const patience = 3 * time.Minute

// command runs the program to its end, or kills it after a while if kill is not
// negative. A command that does not end tells where it hangs.
func (w *world) command(kind string, kill time.Duration, args ...string) result {
	var out bytes.Buffer
	p, input, err := w.start(kind, &out, args...)
	if err != nil {
		w.fault("starting %v: %v", args, err)
		return result{code: -1}
	}
	input.Close()
	if kill >= 0 {
		timer := time.AfterFunc(kill, func() {
			if p.kill() {
				w.tally.add("killed: "+kind, 1)
			}
		})
		defer timer.Stop()
	}
	hangs := time.NewTimer(patience)
	defer hangs.Stop()
	select {
	case <-p.ended:
	case <-hangs.C:
		p.cmd.Process.Signal(syscall.SIGCONT)
		p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.ended
		w.fault("%v did not end within %s", args, patience)
	}
	res := result{code: p.cmd.ProcessState.ExitCode(), out: out.Bytes(), stderr: p.stderr.String()}
	w.tally.add("commands: "+kind, 1)
	if res.code > 0 {
		w.tally.say(res.stderr)
	}
	if res.code == 2 && kind != "verify" {
		w.fault("%v: wrong use: %s", args, res.stderr)
	}
	return res
}

// tally counts what happened in a world.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	said   map[string]int // refusals and errors, without what differs from one to the next
}

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts, t.said = map[string]int{}, map[string]int{}
	}
	t.counts[what] += n
}

func (t *tally) say(text string) {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "redrive-mcp: error: "), "\n")
	first, _, _ = strings.Cut(first, ". ") // what follows differs from one to the next
	first = regexp.MustCompile(`r-[a-z0-9]+|"[^"]*"|[0-9a-f]{16,}|\b[A-Z2-7]{10}\b|\b\d[\dTZ:.-]*\b`).ReplaceAllString(first, "…")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == nil {
		t.counts, t.said = map[string]int{}, map[string]int{}
	}
	t.said[first]++
}
