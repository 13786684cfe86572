package accounting

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/internal/durable/smalldisk"
)

// world is an application with its job table, and the program beside it.
type world struct {
	t        testing.TB
	dir      string // the policy, and a job table in SQLite
	state    string // on a small disk
	program  string
	env      []string
	jobs     *jobs
	receipts bool // the store can prove what was sent
	procs    registry
	tally    tally
	last     int64   // the newest job
	known    []int64 // jobs that are surely there

	mu     sync.Mutex
	faults []string
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// kind is how a world differs from others.
type kind struct {
	postgres *server // nil: SQLite
	schema   string
	receipts bool
	journal  string // of SQLite: wal, delete
}

func newWorld(t testing.TB, k kind) *world {
	t.Helper()
	path, err := program()
	must(t, err)
	w := &world{t: t, dir: t.TempDir(), program: path, receipts: k.receipts}
	disk := filepath.Join(w.dir, "disk")
	must(t, os.Mkdir(disk, 0o700))
	smalldisk.Over(t, disk, 48<<20/smalldisk.Page)
	w.state = filepath.Join(disk, "state")
	w.env = append(os.Environ(), "REDRIVE_POLICY="+w.policyPath(), "GORACE=atexit_sleep_ms=0")
	backend := "{type: sqlite, file: jobs.db, receipts: none, "
	switch {
	case k.postgres != nil:
		w.jobs = postgresJobs(t, k.postgres, k.schema)
		w.env = append(w.env, "APP_RO="+k.postgres.dsn("reader"), "APP_RW="+k.postgres.dsn("writer"))
		backend = "{type: postgres, read_env: APP_RO, write_env: APP_RW, "
		if k.receipts {
			backend += "receipts: " + k.schema + ".receipts, "
		}
	default:
		w.jobs = sqliteJobs(t, filepath.Join(w.dir, "jobs.db"), k.journal)
		if k.receipts {
			backend = "{type: sqlite, file: jobs.db, "
		}
	}
	w.writePolicy(backend)
	return w
}

func (w *world) policyPath() string { return filepath.Join(w.dir, "policy.yaml") }

// people may approve; pairs need two of them.
var people = []string{"ana", "luis", "eva"}

// policyText is a policy with a queue of each kind: by approval with patches,
// direct, and slow enough to be cut off between batches.
const policyText = `version: 1
state: STATE
backends:
  app: BACKENDjobs: {table: TABLE, id: id, queue: queue, job: kind,
    payload: {column: payload, format: json}, dead: {column: status, in: [failed]},
    attempts: attempts, max_attempts: max_attempts, error: error,
    enqueued_at: created_at, last_attempt_at: tried_at, dead_at: failed_at,
    redrive: {update: {set: {status: queued, failed_at: null}}}}}
people: {ana: {}, luis: {}, eva: {}}
groups: {oncall: [ana, luis, eva]}
errors:
  - {class: permanent, code: bad-currency, match: 'unknown currency'}
  - {class: transient, code: timeout, match: 'TimeoutError'}
queues:
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    rules: [{name: poison, when: {error: permanent, patched: false}, do: never}]
    approval: {from: [oncall], deny_for: 1s, max_pending: 60}
    patch: {allow: [/currency]}
    redact: {paths: [/card], people: shown}
  mail:
    source: {backend: app, queue: mail}
    redrive: direct
    handler: {idempotent: true}
    rules: [{name: poison, when: {error: permanent, patched: false}, do: never}]
    limits: {per_plan: 40, per_hour: 100000}
    patch: {allow: [/currency], direct: true}
  pairs:
    source: {backend: app, queue: pairs}
    redrive: approval
    rules: [{name: poison, when: {error: permanent, patched: false}, do: never}]
    approval: {from: [oncall], count: 2, deny_for: 1s, max_pending: 60}
    patch: {allow: [/currency]}
    send: {rate: 60/s}
`

var queues = []string{"orders", "mail", "pairs"}

func (w *world) writePolicy(backend string) {
	w.t.Helper()
	table := "jobs"
	if w.jobs.postgres {
		table = w.jobs.schema + ".jobs"
	}
	text := strings.NewReplacer("STATE", w.state, "BACKEND", backend, "TABLE", table).Replace(policyText)
	must(w.t, os.WriteFile(w.policyPath(), []byte(text), 0o600))
}

// touchPolicy makes the policy another one, which says the same.
func (w *world) touchPolicy(n int) error {
	text, err := os.ReadFile(w.policyPath())
	if err != nil {
		return err
	}
	body, _, _ := strings.Cut(string(text), "# edit")
	temp := w.policyPath() + ".new"
	if err := os.WriteFile(temp, fmt.Appendf(nil, "%s# edit %d\n", body, n), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, w.policyPath())
}

// kill makes n more dead jobs in every queue: the worker runs them until they
// are.
func (w *world) kill(n int) {
	w.t.Helper()
	must(w.t, w.moreDead(n))
	must(w.t, w.jobs.drain())
}

func (w *world) moreDead(n int) error {
	for _, queue := range queues {
		all := make([]work, n)
		for i := range all {
			w.last++
			all[i] = work{N: w.last, Currency: "EUR", Until: 1, Card: fmt.Sprintf("card-%08d", w.last*7919)}
			switch {
			case w.last%3 == 0:
				all[i].Currency, all[i].Until = wrongCurrency, 0
			case w.last%4 == 0:
				all[i].Until = 2
			}
		}
		for _, one := range all {
			if err := w.jobs.enqueue(queue, one); err != nil {
				return err
			}
			w.known = append(w.known, one.N)
		}
	}
	return nil
}
