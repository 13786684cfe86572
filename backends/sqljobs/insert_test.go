package sqljobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

const tombDDL = `CREATE TABLE tomb (id int PRIMARY KEY, q text NOT NULL DEFAULT 'default', body jsonb NOT NULL DEFAULT '{"a": 1}', died_at timestamptz NOT NULL DEFAULT now());
	CREATE TABLE fresh (id int GENERATED ALWAYS AS IDENTITY (START 100), lane text, q text NOT NULL, body jsonb NOT NULL, due timestamp, n bigint, PRIMARY KEY (q, id));
	GRANT SELECT ON tomb TO READER, WRITER; GRANT DELETE, UPDATE (id) ON tomb TO WRITER;
	GRANT INSERT (q, body, due, n, lane), SELECT (id, q) ON fresh TO WRITER;`

const tombMapping = `
receipts: SCHEMA.receipts
jobs:
  table: SCHEMA.tomb
  id: id
  queue: q
  payload: body
  dead: {where: "true"}
  dead_at: died_at
  redrive:
    insert:
      into: SCHEMA.fresh
      columns: {q: q, body: body}
      set: {due: {now: true, tz: Europe/Berlin}, n: {now: true, unit: ms}, lane: {sql: "upper('slow')"}}
      returning: [q, id]
      delete: true
    notify: {channel: SCHEMA.x, payload: "work for {queue}"}
`

// TestInsertDelete moves rows to another table. Their new ids are known after
// the redrive, and to Resolve by the receipt.
func TestInsertDelete(t *testing.T) {
	for way, schema := range ways {
		t.Run(way, func(t *testing.T) { insertDelete(t, schema(t)) })
	}
}

func insertDelete(t *testing.T, s *schema) {
	s.exec(t, tombDDL+"INSERT INTO tomb (id) VALUES (1), (2)")
	listener, err := pgx.Connect(t.Context(), s.dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close(context.Background())
	if _, err := listener.Exec(t.Context(), "LISTEN "+s.name); err != nil {
		t.Fatal(err)
	}
	st := s.open(t, strings.Replace(tombMapping, "channel: SCHEMA.x", "channel: "+s.name, 1), map[string]string{"jobs": "default"})
	defer st.Close()
	if _, err := checkUp(t, st); err != nil {
		t.Fatalf("checking: %v", err)
	}
	items := jobItems(t, st)
	items[1].Body = []byte(`{"a": 2}`)
	l, err := redrive(t, st, items, "reset")
	if err != nil {
		t.Fatalf("redriving: %v", err)
	}
	l.want(t, "done", "done")
	if got := s.text(t, "SELECT string_agg(id || lane || body, ' ' ORDER BY id) FROM fresh"); got != `100SLOW{"a": 1} 101SLOW{"a": 2}` {
		t.Errorf("the new rows are %s", got)
	}
	if got := s.text(t, "SELECT bool_and(abs(extract(epoch FROM due AT TIME ZONE 'Europe/Berlin' - now())) < 60 AND abs(n / 1000 - extract(epoch FROM now())) < 60)::text FROM fresh"); got != "true" {
		t.Errorf("the times of the new rows are not now")
	}
	if got := s.text(t, "SELECT count(*)::text FROM tomb"); got != "0" {
		t.Errorf("%s dead rows are left", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if n, err := listener.WaitForNotification(ctx); err != nil || n.Payload != "work for default" {
		t.Errorf("the notification is %v (%v)", n, err)
	}
	first := l.outcomes[0].NewID
	if err := st.Resolve(t.Context(), "jobs", doubts(items, l.ticket), l); err != nil {
		t.Fatalf("resolving: %v", err)
	}
	l.want(t, "done", "done")
	if again := l.outcomes[0].NewID; first != `["default","100"]` || again != first {
		t.Errorf("the new id is %q, and by its receipt %q", first, again)
	}
	if _, err := redrive(t, st, nil, "keep"); backends.CodeOf(err) != backends.BadMapping {
		t.Errorf("keep with a new row gives %v", err)
	}
}

// TestRetry: a serialization failure starts the batch again, but not for ever.
func TestRetry(t *testing.T) {
	for _, c := range []struct{ failures, want string }{{"2", "done"}, {"99", "skipped busy"}} {
		s := newSchema(t)
		s.exec(t, jobDDL+`INSERT INTO j (id) VALUES (1); CREATE SEQUENCE tried; GRANT USAGE ON SEQUENCE tried TO WRITER;
			CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF nextval(TG_ARGV[0]) <= `+c.failures+` THEN RAISE SQLSTATE ''40001''; END IF; RETURN NEW; END';
			CREATE TRIGGER f BEFORE UPDATE ON j FOR EACH ROW EXECUTE FUNCTION f('`+s.name+`.tried')`)
		st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
		defer st.Close()
		l, err := redrive(t, st, jobItems(t, st), "reset")
		if err != nil {
			t.Fatalf("redriving: %v", err)
		}
		l.want(t, c.want)
	}
}
