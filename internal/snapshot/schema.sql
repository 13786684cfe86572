-- Times are nanoseconds since 1970, 0 for none. Ids and places are blobs: they
-- may hold any bytes.

CREATE TABLE places (
  key   INTEGER PRIMARY KEY,
  place BLOB NOT NULL UNIQUE,
  pass  INTEGER NOT NULL, -- the number of the newest pass, 0 for none
  began INTEGER NOT NULL,
  ended INTEGER NOT NULL, -- 1: it came to its end
  seen  INTEGER NOT NULL,
  total INTEGER NOT NULL,
  notes TEXT    NOT NULL, -- a JSON array
  as_of INTEGER NOT NULL, -- when the newest pass that came to its end began
  whole INTEGER NOT NULL  -- the number of the newest whole pass: what none since has seen is not listed
) STRICT;

CREATE TABLE letters (
  key   INTEGER PRIMARY KEY,
  place INTEGER NOT NULL,
  id    BLOB    NOT NULL,
  rank  INTEGER NOT NULL, -- ^Order: the smallest is listed first
  pass  INTEGER NOT NULL, -- that saw it last
  gone  INTEGER NOT NULL, -- 1: not listed
  looks INTEGER NOT NULL,
  first INTEGER NOT NULL, -- 0: received, but never by a look
  last  INTEGER NOT NULL,
  size  INTEGER NOT NULL,
  facts BLOB    NOT NULL,
  body  BLOB    NOT NULL, -- the digest of the one in bodies
  sum   INTEGER NOT NULL, -- over all of the above but key and gone
  UNIQUE (place, id)
) STRICT;

CREATE INDEX listed ON letters (place, rank, id) WHERE gone = 0;
CREATE INDEX seen   ON letters (place, pass, last) WHERE gone = 0;
CREATE INDEX gone   ON letters (place, last) WHERE gone = 1;

CREATE TABLE bodies (
  key  INTEGER PRIMARY KEY, -- of the letter
  body BLOB NOT NULL
) STRICT;

CREATE TRIGGER forgotten AFTER DELETE ON letters BEGIN
  DELETE FROM bodies WHERE key = old.key;
END;
