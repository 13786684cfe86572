package accounting

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
)

// books are all that is written down anywhere, read without the program's code:
// the job table, the ledger's file and the lines of the log.
type books struct {
	jobs     map[int64]*job
	plans    map[string]*plan // by id
	digests  map[string]*plan
	receipts map[string]int // ticket -> items
	log      []record
	reserved int
	spent    int // against the hour's limit
	unsaid   int // batches whose outcomes are not noted as being in the log
}

type job struct {
	status, queue, payload string
	lives                  []string // what the worker was given, a body a life
	rivals                 int
}

// sends is how often the job was queued again after its first death.
func (j *job) sends() int { return len(j.lives) - 1 }

type plan struct {
	id, digest, queue, mode, state string
	items                          []item
}

func (p *plan) open() bool {
	return slices.Contains([]string{"pending", "approved", "running", "stopping"}, p.state)
}

type item struct {
	n                 int
	id, state, ticket string
	body              *string // nil: as stored
	claimed, intended bool
	at                int64
}

// record is one line of the log.
type record struct {
	Seq                          uint64
	Phase, Plan, Outcome, Tool   string
	Op, Actor, Queue, Run, Proof string
	Err                          string
	Args                         map[string]any
	Items                        []struct {
		N         int
		ID, State string
	}
}

func (w *world) books() (*books, error) {
	b := &books{jobs: map[int64]*job{}, plans: map[string]*plan{}, digests: map[string]*plan{}, receipts: map[string]int{}}
	for _, read := range []func(*world) error{b.readJobs, b.readReceipts, b.readLedger, b.readLog} {
		if err := read(w); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// sentBy is how often the ledger says that a job was sent.
func (b *books) sentBy(id int64) (n int) {
	for _, p := range b.plans {
		for _, it := range p.items {
			if it.id == fmt.Sprint(id) && (it.state == "done" || it.state == "sent") {
				n++
			}
		}
	}
	return n
}

// rows hands each row of a query to scan.
func rows(db *sql.DB, query string, scan func(*sql.Rows) error) error {
	rs, err := db.Query(query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rs.Close()
	for rs.Next() {
		if err := scan(rs); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return rs.Err()
}

func (b *books) readJobs(w *world) error {
	err := rows(w.jobs.db, w.jobs.fill(`SELECT id, status, queue, payload{text} FROM {S}jobs`), func(r *sql.Rows) error {
		var id int64
		j := &job{}
		b.jobs[id] = j
		err := r.Scan(&id, &j.status, &j.queue, &j.payload)
		b.jobs[id] = j
		return err
	})
	delete(b.jobs, 0)
	if err != nil {
		return err
	}
	err = rows(w.jobs.db, w.jobs.fill(`SELECT job, payload FROM {S}effects WHERE attempt = 1 ORDER BY n`), func(r *sql.Rows) error {
		var id int64
		var payload string
		err := r.Scan(&id, &payload)
		if b.jobs[id] == nil {
			b.jobs[id] = &job{status: "gone"}
		}
		b.jobs[id].lives = append(b.jobs[id].lives, payload)
		return err
	})
	if err != nil {
		return err
	}
	return rows(w.jobs.db, w.jobs.fill(`SELECT job FROM {S}rivals`), func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		if b.jobs[id] != nil {
			b.jobs[id].rivals++
		}
		return err
	})
}

func (b *books) readReceipts(w *world) error {
	if !w.receipts {
		return nil
	}
	table := "{S}receipts"
	if !w.jobs.postgres {
		table = "redrive_receipts"
		if n, err := w.jobs.count(`SELECT count(*) FROM sqlite_master WHERE name = 'redrive_receipts'`); err != nil || n == 0 {
			return err // nothing was sent yet
		}
	}
	return rows(w.jobs.db, w.jobs.fill("SELECT ticket, items FROM "+table), func(r *sql.Rows) error {
		var ticket string
		var n int
		err := r.Scan(&ticket, &n)
		b.receipts[ticket] = n
		return err
	})
}

func (b *books) readLedger(w *world) error {
	uri := url.URL{Scheme: "file", OmitHost: true, Path: filepath.Join(w.state, "ledger.db"), RawQuery: "_pragma=busy_timeout(10000)&_pragma=query_only(1)"}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return err
	}
	defer db.Close()
	err = rows(db, `SELECT id, digest, queue, mode, state FROM plans`, func(r *sql.Rows) error {
		p := &plan{}
		err := r.Scan(&p.id, &p.digest, &p.queue, &p.mode, &p.state)
		b.plans[p.id], b.digests[p.digest] = p, p
		return err
	})
	if err != nil {
		return err
	}
	err = rows(db, `SELECT plan, n, id, state, coalesce((SELECT ticket FROM batches WHERE batches.id = batch), ''), body, open, intended, at FROM items ORDER BY plan, n`, func(r *sql.Rows) error {
		var of string
		var it item
		var intended int64
		err := r.Scan(&of, &it.n, &it.id, &it.state, &it.ticket, &it.body, &it.claimed, &intended, &it.at)
		it.intended = intended > 0
		if p := b.plans[of]; p != nil {
			p.items = append(p.items, it)
		}
		return err
	})
	if err != nil {
		return err
	}
	return rows(db, `SELECT (SELECT count(*) FROM reserved), (SELECT coalesce(sum(n), 0) FROM batches), (SELECT count(*) FROM items WHERE owed = 1) + (SELECT count(*) FROM batches WHERE owed = 1)`,
		func(r *sql.Rows) error { return r.Scan(&b.reserved, &b.spent, &b.unsaid) })
}

func (b *books) readLog(w *world) error {
	segments, err := filepath.Glob(filepath.Join(w.state, "audit", "*.jsonl"))
	if err != nil {
		return err
	}
	slices.Sort(segments)
	for _, name := range segments {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			var r record
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				return fmt.Errorf("%s: %w: %s", name, err, lines.Bytes())
			}
			b.log = append(b.log, r)
		}
	}
	return nil
}
