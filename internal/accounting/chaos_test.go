package accounting

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// chaos breaks something again and again until ctx ends, and mends what it
// broke.
func (w *world) chaos(ctx context.Context, rnd *rand.Rand, s *server) {
	for n := 1; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(50+rnd.IntN(400))*time.Millisecond)
		switch k := rnd.IntN(20); {
		case k < 6:
			w.killAny(rnd)
		case k < 8:
			w.freezeAny(ctx, rnd)
		case k < 10:
			w.fillDisk(ctx, time.Duration(20+rnd.IntN(300))*time.Millisecond)
		case k < 12:
			w.breakDatabase(ctx, rnd, s)
		case k < 13:
			w.stall(ctx, rnd)
		case k < 15:
			w.rivalry(rnd)
		case k < 16:
			if err := w.touchPolicy(n); err != nil {
				w.fault("editing the policy: %v", err)
			}
			w.tally.add("policy edited", 1)
		case k < 17:
			w.command("stop", w.maybe(rnd, "stop", 3), "stop", "--reason", "fire", "--as", "ana")
			pause(ctx, time.Duration(rnd.IntN(300))*time.Millisecond)
			w.command("resume", w.maybe(rnd, "resume", 3), "resume", "--as", "ana")
		default:
			_ = w.moreDead(8) // the database may be away
		}
	}
}

func (w *world) killAny(rnd *rand.Rand) {
	if p := w.procs.any(rnd); p != nil && p.kill() {
		w.tally.add("killed: "+p.kind, 1)
	}
}

// freezeAny stops a process as a debugger or a full terminal does: sometimes for
// longer than an executor's lease, which another one takes over then.
func (w *world) freezeAny(ctx context.Context, rnd *rand.Rand) {
	p := w.procs.any(rnd)
	if p == nil {
		return
	}
	d := time.Duration(20+rnd.IntN(1000)) * time.Millisecond
	if *fireFor >= time.Minute && rnd.IntN(25) == 0 {
		d = 35 * time.Second
	}
	w.tally.add("stopped by SIGSTOP", 1)
	go p.freeze(ctx, d)
}

// fillDisk takes all room of the state folder's disk for a while.
func (w *world) fillDisk(ctx context.Context, d time.Duration) {
	name := filepath.Join(filepath.Dir(w.state), "filler")
	f, err := os.Create(name)
	if err != nil {
		return // it is full already
	}
	defer os.Remove(name)
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); err == nil {
		w.fault("the disk does not fill up")
	}
	w.tally.add("disk filled", 1)
	pause(ctx, d)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// breakDatabase stops the server at once and starts it again, or cuts the
// program's connections. A file of SQLite has nobody to stop.
func (w *world) breakDatabase(ctx context.Context, rnd *rand.Rand, s *server) {
	switch {
	case s == nil:
		w.stall(ctx, rnd)
	case rnd.IntN(3) == 0:
		s.stop()
		pause(ctx, time.Duration(rnd.IntN(500))*time.Millisecond)
		if err := s.start(); err != nil {
			w.fault("the database does not start again: %v", err)
		}
		w.tally.add("database restarted", 1)
	default:
		_ = w.jobs.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IN ('reader', 'writer')`)
		w.tally.add("connections cut", 1)
	}
}

// stall holds what a redrive needs: a lock on the job table.
func (w *world) stall(ctx context.Context, rnd *rand.Rand) {
	tx, err := w.jobs.db.Begin() // in SQLite this is the write lock
	if err != nil {
		return
	}
	defer tx.Rollback()
	if w.jobs.postgres {
		if _, err := tx.Exec(w.jobs.fill(`LOCK TABLE {S}jobs IN SHARE ROW EXCLUSIVE MODE`)); err != nil {
			return
		}
	}
	w.tally.add("job table locked", 1)
	d := time.Duration(20+rnd.IntN(400)) * time.Millisecond
	if rnd.IntN(8) == 0 {
		d = 3 * time.Second // longer than the program waits for a lock
	}
	pause(ctx, d)
}

// rivalry lets somebody who does not ask queue or touch dead jobs.
func (w *world) rivalry(rnd *rand.Rand) {
	for range 4 {
		if w.jobs.rival(1+rnd.Int64N(max(w.last, 1)), rnd.IntN(2) == 0) == nil {
			w.tally.add("rival touched a job", 1)
		}
	}
}
