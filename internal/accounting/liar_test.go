package accounting

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
	"github.com/redrive-mcp/redrive-mcp/internal/cli"
)

const liarVariable = "REDRIVE_FIRE_LIAR"

// liars are programs whose store breaks its word, and what the accounting must
// say of each. "honest" is the store as it is.
var liars = map[string]string{
	"honest":   "",
	"blind":    "was sent 1 times: 0 by the ledger's word",
	"deaf":     "was sent 1 times: 0 by the ledger's word",
	"reckless": "was sent 2 times: 1 by the ledger's word",
	"thief":    "was sent 0 times, and the ledger says 1",
	"forger":   "and its plan says",
	"eraser":   "is lost",
}

// TestLiars shows that the accounting finds what it is for. Each liar is killed
// in its first run, after the commit and before the outcome is written down.
func TestLiars(t *testing.T) {
	for name, want := range liars {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind{receipts: true, journal: "wal"})
			w.kill(4)
			w.program = os.Args[0]
			w.env = append(w.env, liarVariable+"="+name)
			res := w.command("redrive", -1, "redrive", "orders", "--ids", "1,2,4", "--reason", "r", "--as", "luis")
			if res.code != 0 {
				t.Fatalf("the request failed: %s", res.stderr)
			}
			open, ok := w.pending(-1)
			if !ok || len(open) != 1 {
				t.Fatalf("pending: %+v", open)
			}
			w.command("approve", -1, "approve", open[0].RequestID, "--digest", open[0].Digest, "--json", "--as", "ana")
			must(t, w.jobs.drain())
			w.settle()
			w.account()
			found := false
			for _, f := range w.faults {
				for one := range strings.SplitSeq(want, "|") {
					found = found || want != "" && strings.Contains(f, one)
				}
			}
			if found != (want != "") || want == "" && len(w.faults) > 0 {
				t.Errorf("want a fault like %q, have:\n%s", want, strings.Join(w.faults, "\n"))
			}
		})
	}
}

// lie is the program with a store that lies.
func lie(how string) int {
	d := sqljobs.SQLite()
	open := d.Open
	d.Open = func(c backends.Config) (backends.Store, error) {
		s, err := open(c)
		return crooked{s, how, filepath.Join(c.Folder, "jobs.db")}, err
	}
	return cli.Main(cli.Program{Drivers: map[string]backends.Driver{"sqlite": d}})
}

type crooked struct {
	backends.Store
	how, file string
}

// sql does something to the job table behind the program's back.
func (s crooked) sql(query string, args ...any) {
	db, err := sql.Open("sqlite", "file:"+s.file+"?_pragma=busy_timeout(10000)")
	if err == nil {
		_, err = db.Exec(query, args...)
		db.Close()
	}
	if err != nil {
		panic(err)
	}
}

func (s crooked) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	switch s.how {
	case "thief": // it says that it sent
		return claimSent(ctx, o, j)
	case "forger": // it sends other bytes
		for i := range o.Items {
			o.Items[i].Body = fmt.Appendf(nil, `{"n":%s,"currency":"EUR","until":0,"card":"mine"}`, o.Items[i].Ref.ID)
		}
	case "reckless": // it sends without a guard what it sent before
		if _, err := os.Stat(s.file + ".died"); err == nil {
			for _, it := range o.Items {
				s.sql(`UPDATE jobs SET status = 'queued', attempts = 0 WHERE id = ?`, it.Ref.ID)
			}
			return claimSent(ctx, o, j)
		}
	}
	return s.Store.Redrive(ctx, o, crookedJournal{j, s})
}

// claimSent says of everything that it was sent.
func claimSent(ctx context.Context, o backends.Order, j backends.Journal) error {
	for _, it := range o.Items {
		if _, err := j.Admit(ctx, 1); err != nil {
			return err
		}
		if err := j.Intend(ctx, fmt.Sprint("t-", it.N), it.N); err != nil {
			return err
		}
		if err := j.Record(ctx, backends.Outcome{N: it.N, State: backends.Done}); err != nil {
			return err
		}
	}
	return nil
}

// Resolve of the deaf says that nothing was sent, without looking.
func (s crooked) Resolve(ctx context.Context, queue string, doubts []backends.Doubt, j backends.Journal) error {
	if s.how != "deaf" && s.how != "reckless" {
		return s.Store.Resolve(ctx, queue, doubts, j)
	}
	for _, d := range doubts {
		if err := j.Record(ctx, backends.Outcome{N: d.N, State: backends.Claimed}); err != nil {
			return err
		}
	}
	return nil
}

type crookedJournal struct {
	backends.Journal
	s crooked
}

// Intend of the blind writes nothing down.
func (j crookedJournal) Intend(ctx context.Context, ticket string, ns ...int) error {
	if j.s.how == "blind" {
		return nil
	}
	return j.Journal.Intend(ctx, ticket, ns...)
}

// Record dies the first time.
func (j crookedJournal) Record(ctx context.Context, outcomes ...backends.Outcome) error {
	if j.s.how == "eraser" {
		j.s.sql(`DELETE FROM jobs WHERE id = 2`)
	}
	if f, err := os.OpenFile(j.s.file+".died", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
	return j.Journal.Record(ctx, outcomes...)
}
