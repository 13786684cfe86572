package sqljobs_test

import (
	"context"
	"database/sql"
	"os"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const oneJob = `INSERT INTO jobs (id, queue, payload, status, attempts, max_attempts, created_at, failed_at)
	VALUES (1, 'default', '{"a":1}', 'failed', 3, 3, '2026-01-02 03:04:05', '2026-01-02 03:04:05');`

// must fails the test for an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// status reads a file by a handle of its own.
func status(t *testing.T, path string) (s string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	must(t, err)
	defer db.Close()
	must(t, db.QueryRow("SELECT status FROM jobs WHERE id = 1").Scan(&s))
	return s
}

// swapped is a store on a file, and another file with an equal row that can
// be put in its place.
type swapped struct {
	*file
	store backends.Store
	other string
	items []backends.Item
	at    backends.Target
}

func newSwapped(t *testing.T) *swapped {
	s := &swapped{file: newFile(t, sqliteDDL+oneJob), other: newFile(t, sqliteDDL+oneJob).path}
	s.store = s.open(t, sqliteMapping, map[string]string{"jobs": "default"})
	t.Cleanup(func() { s.store.Close() })
	if _, err := redrive(t, s.store, nil, "reset"); err != nil { // both handles are open
		t.Fatal(err)
	}
	s.items = jobItems(t, s.store)
	s.at = s.target(t)
	return s
}

func (s *swapped) target(t *testing.T) backends.Target {
	t.Helper()
	at, err := s.store.Target(t.Context(), "jobs")
	must(t, err)
	return at
}

// replace puts the other file at the path; the first one stays as ".old".
func (s *swapped) replace(t *testing.T) {
	t.Helper()
	must(t, os.Rename(s.path, s.path+".old"))
	must(t, os.Rename(s.other, s.path))
}

// back undoes replace.
func (s *swapped) back(t *testing.T) {
	t.Helper()
	must(t, os.Rename(s.path, s.other))
	must(t, os.Rename(s.path+".old", s.path))
}

// TestReplaced: after a file was put in the place of another, all work is on
// the file that the target names.
func TestReplaced(t *testing.T) {
	t.Run("between scan and redrive", func(t *testing.T) {
		s := newSwapped(t)
		s.replace(t)
		l, err := redrive(t, s.store, s.items, "reset")
		must(t, err)
		l.want(t, "done")
		if s.target(t).Letters() == s.at.Letters() {
			t.Errorf("two files are one target, %s", s.at)
		}
		if got := status(t, s.path) + " " + status(t, s.path+".old"); got != "queued failed" {
			t.Errorf("the rows of the new and of the old file are %s", got)
		}
	})
	t.Run("renamed over", func(t *testing.T) {
		s := newSwapped(t)
		must(t, os.Rename(s.other, s.path))
		l, err := redrive(t, s.store, s.items, "reset")
		must(t, err)
		l.want(t, "done")
		if got := status(t, s.path); got != "queued" || s.target(t).Letters() == s.at.Letters() {
			t.Errorf("the row of the new file is %s", got)
		}
	})
	t.Run("removed and made anew", func(t *testing.T) {
		s := newSwapped(t)
		must(t, os.Remove(s.path))
		if _, err := s.store.Target(t.Context(), "jobs"); backends.CodeOf(err) != backends.Unreachable {
			t.Errorf("without a file the target gives %v", err)
		}
		db, err := sql.Open("sqlite", "file:"+s.path)
		must(t, err)
		defer db.Close()
		if _, err = db.Exec(sqliteDDL); err != nil {
			t.Fatal(err)
		}
		if d, err := s.store.Depth(t.Context(), "jobs"); err != nil || d.Letters != 0 {
			t.Errorf("the new file has %d letters (%v)", d.Letters, err)
		}
		l, err := redrive(t, s.store, s.items, "reset")
		must(t, err)
		l.want(t, "skipped gone")
	})
	t.Run("replaced and put back", func(t *testing.T) {
		s := newSwapped(t)
		s.replace(t)
		if _, err := s.store.Depth(t.Context(), "jobs"); err != nil {
			t.Fatal(err)
		}
		s.back(t)
		l, err := redrive(t, s.store, s.items, "reset")
		must(t, err)
		l.want(t, "done")
		if got := status(t, s.path) + " " + status(t, s.other); got != "queued failed" || s.target(t).Letters() != s.at.Letters() {
			t.Errorf("the rows of the first and of the other file are %s at %s", got, s.target(t))
		}
	})
}

// hands is a journal that is called before each step is let go.
type hands struct {
	ledger
	onAdmit func()
}

func (h *hands) Admit(ctx context.Context, n int) (int, error) {
	if h.onAdmit != nil {
		h.onAdmit()
	}
	return h.ledger.Admit(ctx, n)
}

// TestReplacedInHand: a redrive whose file is replaced while it is in hand has
// no effect on either file, whichever step it is at, and can be taken up again
// when the file is back.
func TestReplacedInHand(t *testing.T) {
	for _, at := range []string{"admit", "intend"} {
		t.Run(at, func(t *testing.T) {
			s := newSwapped(t)
			j := &hands{}
			swap := func() { s.replace(t) }
			if at == "admit" {
				j.onAdmit = swap
			} else {
				j.onIntend = swap
			}
			err := s.store.Redrive(t.Context(), backends.Order{Queue: "jobs", Items: s.items}, j)
			if backends.CodeOf(err) != backends.Changed || len(j.outcomes) > 0 {
				t.Errorf("the redrive gives %v (%s) and %v", err, backends.CodeOf(err), j.outcomes)
			}
			if got := status(t, s.path) + " " + status(t, s.path+".old"); got != "failed failed" {
				t.Errorf("the rows of the new and of the old file are %s", got)
			}
			s.back(t)
			if at == "intend" {
				must(t, s.store.Resolve(t.Context(), "jobs", doubts(s.items, j.ticket), j))
				j.want(t, "claimed")
			}
			l, err := redrive(t, s.store, s.items, "reset")
			must(t, err)
			l.want(t, "done")
		})
	}
}
