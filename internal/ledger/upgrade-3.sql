-- Version 3: what is long and does not change stands apart from what is asked and
-- written at every step: the bytes of a plan, and in items the names of places and
-- batches.
CREATE TABLE frozen (
  plan  TEXT PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
INSERT INTO frozen(plan, bytes) SELECT id, bytes FROM plans;
ALTER TABLE plans DROP COLUMN bytes;

CREATE TABLE places (
  id      INTEGER PRIMARY KEY,
  letters TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO places(letters) SELECT DISTINCT letters FROM items;

DROP INDEX batches_spent;
DROP INDEX batches_owed;
ALTER TABLE batches RENAME TO batches2;
CREATE TABLE batches (
  id        INTEGER PRIMARY KEY,
  ticket    TEXT NOT NULL UNIQUE,
  plan      TEXT NOT NULL,
  run       TEXT NOT NULL,
  physical  TEXT NOT NULL,
  n         INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  owed      INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO batches(ticket, plan, run, physical, n, at, owed) SELECT ticket, plan, run, physical, n, at, owed FROM batches2 ORDER BY at, ticket;
DROP TABLE batches2;
CREATE INDEX batches_spent ON batches(physical, at);
CREATE INDEX batches_owed ON batches(plan) WHERE owed = 1;

DROP INDEX items_claim;
DROP INDEX items_history;
DROP INDEX items_lineage;
DROP INDEX items_owed;
DROP INDEX items_released;
DROP INDEX items_unknown;
ALTER TABLE items RENAME TO items2;
CREATE TABLE items (
  plan     TEXT NOT NULL REFERENCES plans(id),
  n        INTEGER NOT NULL,
  place    INTEGER NOT NULL,
  id       TEXT NOT NULL,
  mark     TEXT NOT NULL,
  digest   BLOB NOT NULL,
  salt     BLOB NOT NULL,
  body     BLOB,
  state    TEXT NOT NULL,
  open     INTEGER NOT NULL,
  batch    INTEGER NOT NULL DEFAULT 0,
  code     TEXT NOT NULL DEFAULT '',
  new_id   TEXT NOT NULL DEFAULT '',
  intended INTEGER NOT NULL DEFAULT 0,
  at       INTEGER NOT NULL DEFAULT 0,
  owed     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (plan, n)
) STRICT, WITHOUT ROWID;
INSERT INTO items(plan, n, place, id, mark, digest, salt, body, state, open, batch, code, new_id, intended, at, owed)
  SELECT i.plan, i.n, p.id, i.id, i.mark, i.digest, i.salt, i.body, i.state, i.open, coalesce(b.id, 0), i.code, i.new_id, i.intended, i.at, i.owed
  FROM items2 i JOIN places p ON p.letters = i.letters LEFT JOIN batches b ON b.ticket = i.ticket ORDER BY i.plan, i.n;
DROP TABLE items2;
CREATE UNIQUE INDEX items_claim ON items(place, id) WHERE open = 1;
CREATE INDEX items_history ON items(place, id) WHERE intended > 0;
CREATE INDEX items_lineage ON items(place, new_id) WHERE new_id <> '';
CREATE INDEX items_owed ON items(plan) WHERE owed = 1;
CREATE INDEX items_released ON items(place, id) WHERE open = 0 AND intended = 0;
CREATE INDEX items_unknown ON items(plan) WHERE state = 'unknown';
