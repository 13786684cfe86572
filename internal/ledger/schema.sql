-- One row a request. Times are microseconds since 1970 in UTC, 0 for none.
CREATE TABLE plans (
  id         TEXT PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  queue      TEXT NOT NULL,
  letters    TEXT NOT NULL,          -- the place whose ids are unique
  physical   TEXT NOT NULL,          -- the physical queue, on which limits are counted
  mode       TEXT NOT NULL,          -- direct, approval
  state      TEXT NOT NULL,
  why        TEXT NOT NULL DEFAULT '',
  kind       TEXT NOT NULL,          -- agent, person
  principal  TEXT NOT NULL,
  session    TEXT NOT NULL,
  same       TEXT NOT NULL,          -- digest of what was asked, to tell a repeated call from another
  idem       TEXT NOT NULL,
  created    INTEGER NOT NULL,
  expires    INTEGER NOT NULL,
  not_after  INTEGER NOT NULL,
  decided    INTEGER NOT NULL DEFAULT 0,
  ended      INTEGER NOT NULL DEFAULT 0,
  run        TEXT NOT NULL DEFAULT '',
  fence      INTEGER NOT NULL DEFAULT 0,
  lease      INTEGER NOT NULL DEFAULT 0,
  deny_until INTEGER NOT NULL DEFAULT 0,
  logged     TEXT NOT NULL DEFAULT '' -- the state that the log was told last, '' for nothing yet
) STRICT;
CREATE INDEX plans_open ON plans(queue, state) WHERE state IN ('pending','approved','running','stopping','unknown');
CREATE INDEX plans_denied ON plans(deny_until) WHERE deny_until > 0;
CREATE INDEX plans_untold ON plans(id) WHERE logged = '' OR ended > 0 AND logged <> state;
CREATE INDEX plans_ended ON plans(queue, ended) WHERE ended > 0;
CREATE UNIQUE INDEX plans_idem ON plans(kind, principal, idem) WHERE idem <> '';

-- What a plan says, as it was frozen. It can be long, and what becomes of the plan
-- is asked and written at every step, so it does not stand in its row.
CREATE TABLE frozen (
  plan  TEXT PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

-- Places whose ids are unique, by number: items and their indexes have a row for
-- each message, and what is long in it is written again at each of its moves.
CREATE TABLE places (
  id      INTEGER PRIMARY KEY,
  letters TEXT NOT NULL UNIQUE
) STRICT;

-- One row a message of a plan. open = 1 while the claim holds.
CREATE TABLE items (
  plan     TEXT NOT NULL REFERENCES plans(id),
  n        INTEGER NOT NULL,
  place    INTEGER NOT NULL,         -- of places
  id       TEXT NOT NULL,
  mark     TEXT NOT NULL,
  digest   BLOB NOT NULL,            -- SHA-256 of the envelope
  salt     BLOB NOT NULL,
  body     BLOB,                     -- what is sent instead of the stored body
  state    TEXT NOT NULL,
  open     INTEGER NOT NULL,
  batch    INTEGER NOT NULL DEFAULT 0, -- of batches, 0 for none yet
  code     TEXT NOT NULL DEFAULT '',
  new_id   TEXT NOT NULL DEFAULT '',
  intended INTEGER NOT NULL DEFAULT 0,
  at       INTEGER NOT NULL DEFAULT 0,
  owed     INTEGER NOT NULL DEFAULT 0, -- 1: the outcome is here and not yet in the log
  PRIMARY KEY (plan, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX items_claim ON items(place, id) WHERE open = 1;
CREATE INDEX items_history ON items(place, id) WHERE intended > 0;
CREATE INDEX items_lineage ON items(place, new_id) WHERE new_id <> '';
CREATE INDEX items_owed ON items(plan) WHERE owed = 1;
CREATE INDEX items_released ON items(place, id) WHERE open = 0 AND intended = 0;
CREATE INDEX items_unknown ON items(plan) WHERE state = 'unknown';

-- One row a ticket: a batch of items that one receipt of the store covers.
CREATE TABLE batches (
  id        INTEGER PRIMARY KEY,
  ticket    TEXT NOT NULL UNIQUE,
  plan      TEXT NOT NULL,
  run       TEXT NOT NULL,
  physical  TEXT NOT NULL,
  n         INTEGER NOT NULL,        -- items that count against the hour's limit
  at        INTEGER NOT NULL,
  owed      INTEGER NOT NULL DEFAULT 0 -- 1: what was sent of it is here and not yet in the log
) STRICT;
CREATE INDEX batches_spent ON batches(physical, at);
CREATE INDEX batches_owed ON batches(plan) WHERE owed = 1;

-- What was admitted and not yet intended, one row a running plan.
CREATE TABLE reserved (
  plan     TEXT PRIMARY KEY REFERENCES plans(id),
  physical TEXT NOT NULL,
  n        INTEGER NOT NULL,
  at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
  plan   TEXT NOT NULL REFERENCES plans(id),
  person TEXT NOT NULL,
  yes    INTEGER NOT NULL,
  digest TEXT NOT NULL,
  proof  TEXT NOT NULL,
  reason TEXT NOT NULL,
  at     INTEGER NOT NULL,
  seq    INTEGER NOT NULL,           -- the log's record of it; before that is written, the newest one
  hash   TEXT NOT NULL,              -- '' until the log has it: it counts for nothing
  PRIMARY KEY (plan, person)
) STRICT, WITHOUT ROWID;

-- The generic cell rate algorithm's theoretical arrival time, a row a physical queue.
CREATE TABLE pace (
  physical TEXT PRIMARY KEY,
  tat      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE patches (
  id      TEXT PRIMARY KEY,
  queue   TEXT NOT NULL,
  kind    TEXT NOT NULL,             -- patch, merge_patch, replace_body
  data    BLOB NOT NULL,
  note    TEXT NOT NULL,
  principal TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;

-- The original of what a redrive changes in place. Kept for snapshots.keep.
CREATE TABLE snapshots (
  plan     TEXT NOT NULL,
  n        INTEGER NOT NULL,
  body     BLOB NOT NULL,
  expires  INTEGER NOT NULL,
  PRIMARY KEY (plan, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX snapshots_expires ON snapshots(expires);

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
