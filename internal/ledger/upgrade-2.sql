-- Version 2: what the log was told is noted by plan and by item, not by batch;
-- denials and the last end are found by index.
ALTER TABLE plans ADD COLUMN logged TEXT NOT NULL DEFAULT '';
UPDATE plans SET logged = state;
CREATE INDEX plans_untold ON plans(id) WHERE logged = '' OR ended > 0 AND logged <> state;
CREATE INDEX plans_ended ON plans(queue, ended) WHERE ended > 0;

ALTER TABLE items ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;
UPDATE items SET owed = 1 WHERE state <> 'intended' AND (plan, ticket) IN (SELECT plan, ticket FROM batches WHERE recorded = 1);
CREATE INDEX items_owed ON items(plan) WHERE owed = 1;
CREATE INDEX items_released ON items(letters, id) WHERE open = 0 AND intended = 0;

DROP INDEX plans_created; -- it made SQLite read all plans to list the open ones
DROP INDEX batches_open;
DROP INDEX batches_spent;
ALTER TABLE batches RENAME TO batches1;
CREATE TABLE batches (
  ticket    TEXT PRIMARY KEY,
  plan      TEXT NOT NULL,
  run       TEXT NOT NULL,
  physical  TEXT NOT NULL,
  n         INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  owed      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO batches(ticket, plan, run, physical, n, at) SELECT ticket, plan, run, physical, n, at FROM batches1;
DROP TABLE batches1;
CREATE INDEX batches_spent ON batches(physical, at);
CREATE INDEX batches_owed ON batches(plan) WHERE owed = 1;
