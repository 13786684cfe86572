package sqljobs_test

import (
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends/backendtest"
)

// enumShape has numbers for ids, an enum for the state, jsonb for the payload
// and an array of jsonb for all errors of a job.
var enumShape = shape{
	ddl: `CREATE TYPE state AS ENUM ('available', 'running', 'discarded');
		CREATE TABLE job (id bigserial PRIMARY KEY, state state NOT NULL, queue text NOT NULL, kind text NOT NULL, args jsonb NOT NULL,
			attempt smallint NOT NULL, max_attempts smallint NOT NULL, errors jsonb[], priority smallint NOT NULL DEFAULT 1,
			created_at timestamptz NOT NULL DEFAULT now(), attempted_at timestamptz, finalized_at timestamptz, scheduled_at timestamptz, tags text[],
			CHECK ((finalized_at IS NULL) = (state <> 'discarded')));
		CREATE INDEX ON job (queue, finalized_at DESC, id DESC) WHERE state = 'discarded' AND finalized_at IS NOT NULL;
		GRANT SELECT ON job TO READER, WRITER;
		GRANT UPDATE (state, finalized_at, scheduled_at, attempt, max_attempts, args) ON job TO WRITER`,
	mapping: `
receipts: SCHEMA.receipts
jobs:
  table: SCHEMA.job
  id: id
  queue: queue
  job: kind
  payload: args
  dead: {column: state, in: [discarded]}
  attempts: attempt
  max_attempts: max_attempts
  error: {column: errors, format: jsonb_array, path: [error], stack: [trace]}
  enqueued_at: created_at
  last_attempt_at: attempted_at
  dead_at: finalized_at
  redrive: {update: {set: {state: available, finalized_at: null, scheduled_at: {now: true}}}}
`,
	queues: twoQueues,
	kill: `INSERT INTO job (state, queue, kind, args, attempt, max_attempts, errors, attempted_at, finalized_at)
		VALUES ('discarded', $1, $4, $2, 3, 3, ARRAY['{"error": "an older one"}', jsonb_build_object('error', $3::text, 'trace', 'a.go:1')]::jsonb[], $5, $5) RETURNING id::text`,
	revive: "UPDATE job SET state = 'available', finalized_at = NULL WHERE id = $1::text::bigint",
	again:  "UPDATE job SET state = 'discarded', finalized_at = $2 WHERE id = $1::text::bigint",
	touch:  "UPDATE job SET priority = priority + 1 WHERE id = $1::text::bigint",
	remove: "DELETE FROM job WHERE id = $1::text::bigint",
	ready:  "SELECT id::text, args::text FROM job WHERE state = 'available' AND queue = 'default'",
	take:   "DELETE FROM job WHERE state = 'available'",
	other:  []string{"x", "1e3", "99999999999999999999", "1.0", "null"},
	facts:  without(func(f *backendtest.Facts) { f.KeepsBytes = false }),
}

// compositeShape has two columns for an id, one a uuid, times without a zone
// in UTC, and text for payload and status.
var compositeShape = shape{
	ddl: `CREATE TABLE "Job" (tenant text, id uuid DEFAULT gen_random_uuid(), "order" text NOT NULL, task text, body text NOT NULL,
			status varchar(20) NOT NULL, tries int NOT NULL, tries_max int NOT NULL, last_error text, worker text,
			inserted_at timestamp NOT NULL DEFAULT timezone('UTC', now()), tried_at timestamp, failed_at timestamp, weight float8 DEFAULT 0.1,
			PRIMARY KEY (tenant, id)) PARTITION BY LIST (tenant);
		CREATE TABLE job_acme PARTITION OF "Job" FOR VALUES IN ('ac''me');
		CREATE INDEX ON "Job" ("order", failed_at DESC, tenant DESC, id DESC) WHERE status IN ('failed', 'dead') AND failed_at IS NOT NULL;
		GRANT SELECT ON "Job" TO READER, WRITER;
		GRANT UPDATE (status, failed_at, worker, tries, tries_max, body) ON "Job" TO WRITER`,
	mapping: `
receipts: SCHEMA.receipts
jobs:
  table: SCHEMA.Job
  id: [tenant, id]
  queue: order
  job: task
  payload: {column: body, format: json}
  dead: {column: status, in: [failed, dead]}
  attempts: tries
  max_attempts: tries_max
  error: last_error
  enqueued_at: {column: inserted_at, tz: utc}
  last_attempt_at: {column: tried_at, tz: utc}
  dead_at: {column: failed_at, tz: utc}
  group: worker
  redrive: {update: {set: {status: queued, failed_at: null, worker: null}}}
`,
	queues: twoQueues,
	kill: `INSERT INTO "Job" (tenant, "order", task, body, status, tries, tries_max, last_error, tried_at, failed_at)
		VALUES ('ac''me', $1, $4, $2, 'failed', 3, 3, $3, $5::timestamptz AT TIME ZONE 'UTC', $5::timestamptz AT TIME ZONE 'UTC') RETURNING '["' || tenant || '","' || id || '"]'`,
	revive: `UPDATE "Job" SET status = 'queued', failed_at = NULL WHERE jsonb_build_array(tenant, id) = $1::text::jsonb`,
	again:  `UPDATE "Job" SET status = 'failed', failed_at = $2::timestamptz AT TIME ZONE 'UTC' WHERE jsonb_build_array(tenant, id) = $1::text::jsonb`,
	touch:  `UPDATE "Job" SET weight = weight + 1 WHERE jsonb_build_array(tenant, id) = $1::text::jsonb`,
	remove: `DELETE FROM "Job" WHERE jsonb_build_array(tenant, id) = $1::text::jsonb`,
	ready:  `SELECT id::text, body FROM "Job" WHERE status = 'queued' AND "order" = 'default'`,
	take:   `DELETE FROM "Job" WHERE status = 'queued'`,
	other:  []string{"x", `["ac'me"]`, `["ac'me","no-uuid"]`, `["ac'me", "00000000-0000-0000-0000-000000000000"]`, `["a","b","c"]`},
	facts:  everything,
}

// moveShape keeps dead letters in a table of their own.
var moveShape = shape{
	ddl: `CREATE TABLE ready (id bigserial PRIMARY KEY, topic text NOT NULL, body json NOT NULL, handler text, tries int NOT NULL);
		CREATE TABLE graveyard (key text PRIMARY KEY DEFAULT 'k/' || gen_random_uuid(), topic text NOT NULL, body json NOT NULL, handler text,
			error json, headers text DEFAULT '', died_at timestamptz NOT NULL, replayed_at timestamptz);
		GRANT SELECT ON graveyard TO READER, WRITER;
		GRANT UPDATE (replayed_at) ON graveyard TO WRITER;
		GRANT INSERT (topic, body, handler, tries), SELECT (id) ON ready TO WRITER;
		GRANT USAGE ON SEQUENCE ready_id_seq TO WRITER`,
	mapping: `
receipts: SCHEMA.receipts
jobs:
  table: SCHEMA.graveyard
  id: key
  queue: topic
  job: handler
  payload: body
  dead: {where: replayed_at IS NULL}
  error: {column: error, path: [cause, message], code: [cause, name]}
  dead_at: died_at
  redrive:
    insert:
      into: SCHEMA.ready
      columns: {topic: topic, body: body, handler: handler}
      set: {tries: 0}
      returning: id
      mark: {replayed_at: {now: true}}
    notify: {channel: ready, payload: "{queue}"}
`,
	queues: twoQueues,
	kill: `INSERT INTO graveyard (topic, body, handler, error, died_at)
		VALUES ($1, $2, $4, json_build_object('cause', json_build_object('message', $3::text, 'name', 'TimeoutError')), $5) RETURNING key`,
	revive: "WITH r AS (UPDATE graveyard SET replayed_at = now() WHERE key = $1 RETURNING *) INSERT INTO ready (topic, body, handler, tries) SELECT topic, body, handler, 0 FROM r",
	again:  "WITH g AS (UPDATE graveyard SET replayed_at = NULL, died_at = $2 WHERE key = $1 RETURNING *) DELETE FROM ready USING g WHERE ready.body::text = g.body::text",
	touch:  "UPDATE graveyard SET headers = headers || 'x' WHERE key = $1",
	remove: "DELETE FROM graveyard WHERE key = $1",
	ready:  "SELECT id::text, body::text FROM ready WHERE topic = 'default'",
	take:   "DELETE FROM ready",
	facts: without(func(f *backendtest.Facts) {
		f.Made, f.Limit, f.Enqueued, f.LastAttempt = false, false, false, false
	}),
}

// plainShape has hardly anything: bytes for the payload, numbers for the
// status, and neither a time of death nor attempts nor a queue.
var plainShape = shape{
	ddl: `CREATE TABLE work (name text PRIMARY KEY DEFAULT md5(random()::text), payload bytea NOT NULL, status int NOT NULL, note text[], n int NOT NULL DEFAULT 0);
		GRANT SELECT ON work TO READER, WRITER;
		GRANT UPDATE (status, payload) ON work TO WRITER`,
	mapping: `
receipts: none
jobs:
  table: SCHEMA.work
  id: name
  payload: payload
  dead: {where: "status IN (5, 6)"}
  error: {column: note, pick: first}
  redrive: {update: {set: {status: 0}}}
`,
	queues: map[string]string{"jobs": ""},
	kill:   `INSERT INTO work (payload, status, note) SELECT convert_to($2, 'UTF8'), 5, ARRAY[$3::text, 'older'] FROM (SELECT $1::text, $4::text, $5::timestamptz) x RETURNING name`,
	revive: "UPDATE work SET status = 0 WHERE name = $1",
	again:  "UPDATE work SET status = 5 FROM (SELECT $2::timestamptz) x WHERE name = $1",
	touch:  "UPDATE work SET n = n + 1 WHERE name = $1",
	remove: "DELETE FROM work WHERE name = $1",
	ready:  "SELECT name, convert_from(payload, 'UTF8') FROM work WHERE status = 0",
	take:   "DELETE FROM work WHERE status = 0",
	facts:  backendtest.Facts{Reason: true, KeepsBytes: true, Patches: true, MayDoubt: true},
}

func TestPostgresEnumJSONB(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, enumShape.bench(t, newSchema(t)))
}

func TestPostgresCompositeText(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, compositeShape.bench(t, pooled(t)))
}

func TestPostgresInsert(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, moveShape.bench(t, pooled(t)))
}

func TestPostgresPlain(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, plainShape.bench(t, pooled(t)))
}
