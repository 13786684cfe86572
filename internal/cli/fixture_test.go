package cli_test

import (
	"context"
	"os"
	"os/user"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// fixture makes app.db, an empty job table, and policy.yaml, a policy with one
// queue of each kind. A policy.yaml of the script's own stays.
func fixture(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("jobs", "new", ts.MkAbs("app.db")))
	if _, err := os.Stat(ts.MkAbs("policy.yaml")); err != nil {
		ts.Check(os.WriteFile(ts.MkAbs("policy.yaml"), []byte(fixturePolicy), 0o600))
	}
	expand(ts, neg, []string{"policy.yaml"})
}

// expand FILE... fills in what the files of a script cannot know: $WORK, $USER,
// and $APP, the section of a backend that reads app.db.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	u, err := user.Current()
	ts.Check(err)
	ts.Setenv("USERNAME", u.Username)
	fill := strings.NewReplacer("$APP", fixtureBackend, "$SCHEMA", ts.Getenv("SCHEMA"), "$QUEUE", ts.Getenv("QUEUE"), "$SQS_ENDPOINT", ts.Getenv("SQS_ENDPOINT"), "$WORK", ts.Getenv("WORK"), "$USER", u.Username)
	for _, name := range args {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(fill.Replace(ts.ReadFile(name))), 0o600))
	}
}

const fixtureBackend = `{type: sqlite, file: app.db, jobs: {table: jobs, id: id, queue: queue, job: kind,
    payload: {column: payload, format: json}, dead: {column: status, in: [failed]},
    attempts: attempts, max_attempts: max_attempts, error: error,
    enqueued_at: created_at, last_attempt_at: tried_at, dead_at: failed_at,
    redrive: {update: {set: {status: queued, failed_at: null, run_at: {now: true}}}}}}`

const fixturePolicy = `version: 1
state: $WORK/state
backends:
  app: $APP
errors:
  - {class: permanent, code: bad-currency, match: '(?i)unknown currency'}
  - {class: transient, code: throttled, match: '\bHTTP 429\b'}
queues:
  locked:
    source: {backend: app, queue: locked}
  mail:
    source: {backend: app, queue: mail}
    redrive: direct
    handler: {idempotent: true}
    limits: {per_plan: 50, per_hour: 200}
  orders:
    source: {backend: app, queue: orders}
    redrive: approval
    rules:
      - {name: poison, when: {error: permanent, patched: false}, do: never}
    patch: {allow: [/currency]}
    redact: {paths: [/card], people: shown}
`

// doubtful makes a driver whose store loses the answer to every send while the
// variable LOSE_ANSWERS is set: the messages go, and nobody can prove it.
func doubtful(d backends.Driver) backends.Driver {
	open := d.Open
	d.Open = func(c backends.Config) (backends.Store, error) {
		s, err := open(c)
		if err != nil || os.Getenv("LOSE_ANSWERS") == "" {
			return s, err
		}
		return deafStore{s}, nil
	}
	return d
}

type deafStore struct{ backends.Store }

func (s deafStore) Redrive(ctx context.Context, o backends.Order, j backends.Journal) error {
	return s.Store.Redrive(ctx, o, deafJournal{j})
}

type deafJournal struct{ backends.Journal }

func (j deafJournal) Record(ctx context.Context, outcomes ...backends.Outcome) error {
	for i, o := range outcomes {
		if o.State == backends.Done || o.State == backends.Sent {
			outcomes[i] = backends.Outcome{N: o.N, State: backends.Doubtful, Code: backends.NoAnswer}
		}
	}
	return j.Journal.Record(ctx, outcomes...)
}
