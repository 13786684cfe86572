-- A job table with {ROWS} dead jobs in {SCHEMA}, as benchmarks want it: error
-- texts of many kinds, some common and some rare, with variable parts in all of
-- them and stacks in some; payloads of a few hundred bytes; deaths nearly, but
-- not quite, in the order of the ids. It is the same at every run.
CREATE TABLE {SCHEMA}.jobs (
  id bigint PRIMARY KEY, queue text NOT NULL, kind text NOT NULL, payload jsonb NOT NULL,
  status text NOT NULL, attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 3, last_error text,
  created_at timestamptz NOT NULL, attempted_at timestamptz, failed_at timestamptz, locked_by text);

CREATE TABLE {SCHEMA}.receipts (
  ticket text PRIMARY KEY, sent_at timestamptz NOT NULL, queue text NOT NULL, items integer NOT NULL, new_ids jsonb NOT NULL);

WITH raw AS (
  SELECT i, ('x' || left(md5(i::text), 8))::bit(32)::int & 1073741823 AS h, md5((i * 7)::text) AS hex
  FROM generate_series(1, {ROWS}) AS i
), job AS (
  -- The square root makes the first kinds rare and the last ones common.
  SELECT *, floor(sqrt(h % 900))::int AS error_kind, h % 223 AS a, h % 65000 AS b,
    timestamptz '2026-10-01 00:00Z' + i * interval '2 seconds' AS born FROM raw
)
INSERT INTO {SCHEMA}.jobs
SELECT i, 'orders', (ARRAY['ChargeCard','SendReceipt','SyncStock','ResizeImage','PushWebhook'])[1 + h % 5],
  jsonb_build_object('order', 9007199254740992 + i, 'currency', (ARRAY['EUR','USD','GBP'])[1 + h % 3], 'total', (h % 100000) / 100.0,
    'customer', jsonb_build_object('id', 'cus_' || left(hex, 14), 'email', 'user' || a || '@example.com', 'country', 'DE'),
    'items', jsonb_build_array(jsonb_build_object('sku', 'SKU-' || b, 'quantity', 1 + a % 4), jsonb_build_object('sku', 'SKU-' || (b + 7), 'quantity', 1)),
    'callback', 'https://shop.example.com/hooks/' || hex, 'trace', hex),
  'failed', 3, 3,
  CASE error_kind
    WHEN 0 THEN 'MoovAtomNotFound: moov atom not found in upload ' || hex
    WHEN 1 THEN 'x509: certificate has expired or is not yet valid: current time 2026-11-' || lpad((1 + a % 28)::text, 2, '0') || 'T10:00:00Z is after 2026-11-01T00:00:00Z'
    WHEN 2 THEN 'SQLSTATE[23505]: Unique violation: duplicate key value violates unique constraint "orders_pkey"' || chr(10) || 'DETAIL:  Key (id)=(' || i || ') already exists.'
    WHEN 3 THEN E'panic: runtime error: index out of range [' || a || E'] with length 3\n\ngoroutine ' || b || E' [running]:\nmain.(*Importer).row(0xc000' || left(hex, 6) || E', {0xc0001, 0x3})\n\t/app/importer.go:' || a || E' +0x1d\nmain.main()\n\t/app/main.go:31 +0x2b'
    WHEN 4 THEN 'json: cannot unmarshal string into Go struct field Order.total of type float64 at offset ' || b
    WHEN 5 THEN 'NoMethodError: undefined method `sku'' for nil:NilClass' || E'\n' || '/app/jobs/stock.rb:' || a || ':in `perform''' || E'\n' || '/usr/lib/ruby/3.2.0/worker.rb:' || b || ':in `run'''
    WHEN 6 THEN 'Net::OpenTimeout: execution expired after ' || a || ' s'
    WHEN 7 THEN 'ValueError: unknown currency "' || left(hex, 2) || '" in order ' || i
    WHEN 8 THEN 'context deadline exceeded (Client.Timeout exceeded while awaiting headers): Post "https://api.shop-' || a % 9 || '.example.com/v2/orders/' || i || '/charge"'
    WHEN 9 THEN 'deadlock detected: process ' || b || ' waits for ShareLock on transaction ' || h || '; blocked by process ' || (b + 1)
    WHEN 10 THEN E'Traceback (most recent call last):\n  File "/srv/app/tasks/resize.py", line ' || a || E', in resize\n    image = Image.open(path)\n  File "/usr/lib/python3/dist-packages/PIL/Image.py", line ' || b || E', in open\n    raise UnidentifiedImageError(message)\nPIL.UnidentifiedImageError: cannot identify image file ''/tmp/' || hex || E'.webp'''
    WHEN 11 THEN '404 Not Found: customer cus_' || left(hex, 14) || ' does not exist'
    WHEN 12 THEN 'read tcp 10.0.' || a || '.7:' || b || '->10.0.3.9:5432: read: connection reset by peer'
    WHEN 13 THEN 'smtp: 550 5.1.1 <user' || a || '@example.com>: Recipient address rejected: User unknown'
    WHEN 14 THEN 'HTTP 503 from stock service, request ' || hex
    WHEN 15 THEN E'TypeError: Cannot read properties of undefined (reading ''email'')\n    at sendReceipt (/app/src/jobs/receipt.js:' || a || E':17)\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)\n    at async Worker.run (/app/src/worker.js:' || b || E':9)'
    WHEN 16 THEN 'java.net.SocketTimeoutException: Read timed out after ' || b || E'ms\n\tat java.base/java.net.SocketInputStream.socketRead0(Native Method)\n\tat com.example.stock.Client.fetch(Client.java:' || a || E')\n\tat com.example.stock.Sync.run(Sync.java:42)'
    WHEN 17 THEN 'lock wait timeout exceeded after ' || a || '.5s on row ' || i
    WHEN 18 THEN 'rpc error: code = Unavailable desc = transport is closing (attempt 3 of 3, request ' || left(hex, 8) || '-' || substr(hex, 9, 4) || '-4' || substr(hex, 13, 3) || '-8' || substr(hex, 16, 3) || '-' || right(hex, 12) || ')'
    WHEN 19 THEN 'Stripe::CardError: Your card was declined (decline code insufficient_funds, charge ch_' || right(hex, 20) || ')'
    WHEN 20 THEN 'HTTP 429 Too Many Requests: retry after ' || a || ' seconds'
    WHEN 21 THEN 'dial tcp 10.2.' || a || '.14:6379: connect: connection refused'
    WHEN 22 THEN 'webhook to https://shop.example.com/hooks/' || hex || '?sig=' || md5(hex) || ' answered 500 in ' || b || 'ms'
    WHEN 23 THEN 'out of stock: SKU-' || b || ' has 0 of ' || (1 + a % 9) || ' wanted for order ' || i
    WHEN 24 THEN 'S3: NoSuchKey: The specified key does not exist: uploads/2026/11/' || hex || '.jpg'
    WHEN 25 THEN 'payload rejected by schema: /items/' || a % 9 || '/quantity must be >= 1'
    WHEN 26 THEN 'Timeout: no answer from payment provider within ' || (10 + a % 20) || '.0s'
    WHEN 27 THEN 'dial tcp: lookup stock-' || a % 7 || '.internal on 10.0.0.2:53: no such host'
    WHEN 28 THEN 'HTTP 502 Bad Gateway from https://api.example.com/v1/charges/ch_' || right(hex, 20) || ' after ' || b || 'ms'
    ELSE 'Timeout: connection to db-' || a % 12 || '.internal:5432 lost after ' || b || 'ms while running query ' || left(hex, 8)
  END,
  born, born + interval '6 minutes', born + interval '6 minutes' + (h % 3600) * interval '1 second', NULL
FROM job;

CREATE INDEX ON {SCHEMA}.jobs (queue, failed_at DESC, id DESC) WHERE status = 'failed' AND failed_at IS NOT NULL;
