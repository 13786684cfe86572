package sqljobs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// ledger is a journal that lets everything go and remembers it.
type ledger struct {
	ticket   string
	outcomes map[int]backends.Outcome
	onIntend func()
}

func (l *ledger) Admit(_ context.Context, n int) (int, error) { return n, nil }

func (l *ledger) Intend(_ context.Context, ticket string, _ ...int) error {
	l.ticket = ticket
	if l.onIntend != nil {
		l.onIntend()
	}
	return nil
}

func (l *ledger) Record(_ context.Context, os ...backends.Outcome) error {
	if l.outcomes == nil {
		l.outcomes = map[int]backends.Outcome{}
	}
	for _, o := range os {
		l.outcomes[o.N] = o
	}
	return nil
}

func (l *ledger) want(t *testing.T, states ...string) {
	t.Helper()
	for n, want := range states {
		o := l.outcomes[n]
		if got := strings.TrimSpace(string(o.State) + " " + string(o.Code)); got != want {
			t.Errorf("item %d is %q, want %q", n, got, want)
		}
	}
}

const jobDDL = `CREATE TABLE j (id int PRIMARY KEY, q text DEFAULT 'default', status text NOT NULL DEFAULT 'failed', payload json NOT NULL DEFAULT '{"a":1}',
		attempts int NOT NULL DEFAULT 3, max_attempts int NOT NULL DEFAULT 3, key text, failed_at timestamptz DEFAULT now());
	GRANT SELECT, UPDATE ON j TO READER, WRITER;`

const jobMapping = `
receipts: SCHEMA.receipts
jobs:
  table: SCHEMA.j
  id: id
  queue: q
  payload: payload
  dead: {column: status, in: [failed]}
  attempts: attempts
  max_attempts: max_attempts
  dead_at: failed_at
  redrive: {update: {set: {status: queued, failed_at: null}}}
`

func jobItems(t *testing.T, s backends.Store) (items []backends.Item) {
	t.Helper()
	for l, err := range s.Scan(t.Context(), backends.Query{Queue: "jobs", Bodies: true}) {
		if err != nil {
			t.Fatalf("scanning: %v", err)
		}
		items = append(items, backends.Item{Ref: l.Ref})
	}
	// Newest first means highest id first where all died in one statement.
	for i, k := 0, len(items)-1; i < k; i, k = i+1, k-1 {
		items[i], items[k] = items[k], items[i]
	}
	for i := range items {
		items[i].N = i
	}
	return items
}

func redrive(t *testing.T, s backends.Store, items []backends.Item, attempts string) (*ledger, error) {
	t.Helper()
	l := &ledger{}
	return l, s.Redrive(t.Context(), backends.Order{Queue: "jobs", Attempts: attempts, Items: items}, l)
}

// TestOneBadRow: a row that a constraint or a trigger refuses keeps no other
// row back, also when the constraint is deferred to the commit.
func TestOneBadRow(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{"unique", "INSERT INTO j (id, status, key) VALUES (9, 'queued', 'k2'); CREATE UNIQUE INDEX ON j (key) WHERE status = 'queued'", "failed conflict"},
		{"deferred", "INSERT INTO j (id, status, key) VALUES (9, 'queued', 'k2'); ALTER TABLE j ADD EXCLUDE USING btree (key WITH =) WHERE (status = 'queued') DEFERRABLE INITIALLY DEFERRED", "failed conflict"},
		{"check", "ALTER TABLE j ADD CHECK (NOT (id = 2 AND status = 'queued'))", "failed refused"},
		{"trigger", `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id = 2 THEN RAISE ''no''; END IF; RETURN NEW; END';
			CREATE TRIGGER no BEFORE UPDATE ON j FOR EACH ROW EXECUTE FUNCTION no()`, "failed refused"},
		{"trigger with a code of its own", `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id = 2 THEN RAISE ''no'' USING ERRCODE = ''ZX999''; END IF; RETURN NEW; END';
			CREATE TRIGGER no BEFORE UPDATE ON j FOR EACH ROW EXECUTE FUNCTION no()`, "failed refused"},
		{"silent trigger", `CREATE FUNCTION hush() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW; END';
			CREATE TRIGGER hush BEFORE UPDATE ON j FOR EACH ROW EXECUTE FUNCTION hush()`, "failed refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSchema(t)
			s.exec(t, jobDDL+"INSERT INTO j (id, key) VALUES (1, 'k1'), (2, 'k2'), (3, 'k3');"+c.rule)
			st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
			defer st.Close()
			l, err := redrive(t, st, jobItems(t, st), "reset")
			if err != nil {
				t.Fatalf("redriving: %v", err)
			}
			l.want(t, "done", c.want, "done")
			if got := s.text(t, "SELECT string_agg(id || status, ' ' ORDER BY id) FROM j WHERE id < 9"); got != "1queued 2failed 3queued" {
				t.Errorf("the rows are %s", got)
			}
			if got := s.text(t, "SELECT string_agg(items::text, ' ') FROM receipts"); got != "2" {
				t.Errorf("the receipt covers %s items, want 2", got)
			}
		})
	}
}

// TestAttempts: what each order makes of a job that used up 3 of 3 tries.
func TestAttempts(t *testing.T) {
	for _, c := range []struct{ order, want string }{{"reset", "0 3"}, {"keep", "3 3"}, {"5", "3 8"}} {
		s := newSchema(t)
		s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
		st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
		defer st.Close()
		if _, err := redrive(t, st, jobItems(t, st), c.order); err != nil {
			t.Fatalf("redriving: %v", err)
		}
		if got := s.text(t, "SELECT attempts || ' ' || max_attempts FROM j"); got != c.want {
			t.Errorf("%s gives %s, want %s", c.order, got, c.want)
		}
		if _, err := redrive(t, st, nil, "1; DROP TABLE j"); backends.CodeOf(err) != backends.BadMapping {
			t.Errorf("attempts that are no number give %v", err)
		}
	}
}

// TestNoAnswer cuts the connection between the intent and the commit. The
// store says that it does not know, and settles it by the receipt.
func TestNoAnswer(t *testing.T) {
	for way, schema := range ways {
		t.Run(way, func(t *testing.T) { noAnswer(t, schema(t)) })
	}
}

func noAnswer(t *testing.T, s *schema) {
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1), (2)")
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	items := jobItems(t, st)
	l := &ledger{onIntend: func() {
		s.text(t, "SELECT count(pg_terminate_backend(pid, 5000))::text FROM pg_stat_activity WHERE usename = 'WRITER'")
	}}
	err := st.Redrive(t.Context(), backends.Order{Queue: "jobs", Items: items}, l)
	if backends.CodeOf(err) != backends.NoAnswer || len(l.outcomes) != 0 {
		t.Fatalf("a commit without an answer gives %v and %v", err, l.outcomes)
	}
	if err := st.Resolve(t.Context(), "jobs", doubts(items, l.ticket), l); err != nil {
		t.Fatalf("resolving: %v", err)
	}
	l.want(t, "claimed", "claimed")
	if l, err = redrive(t, st, items, "reset"); err != nil {
		t.Fatalf("redriving again: %v", err)
	}
	l.want(t, "done", "done")
	if err := st.Resolve(t.Context(), "jobs", doubts(items, l.ticket), l); err != nil {
		t.Fatalf("resolving what was sent: %v", err)
	}
	l.want(t, "done", "done")
}

func doubts(items []backends.Item, ticket string) (out []backends.Doubt) {
	for _, it := range items {
		out = append(out, backends.Doubt{Item: it, Ticket: ticket, State: backends.Intended})
	}
	return out
}

// TestResolveWaits: while the old transaction is open nothing is proved, and
// Resolve says that the rows are busy.
func TestResolveWaits(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1), (2)")
	st := s.open(t, jobMapping+"timeouts: {lock: 100ms}\n", map[string]string{"jobs": "default"})
	defer st.Close()
	items := jobItems(t, st)
	asked := &ledger{}
	var err error
	l := &ledger{}
	l.onIntend = func() { err = st.Resolve(t.Context(), "jobs", doubts(items, l.ticket), asked) }
	if sent := st.Redrive(t.Context(), backends.Order{Queue: "jobs", Items: items}, l); sent != nil {
		t.Fatalf("redriving: %v", sent)
	}
	if backends.CodeOf(err) != backends.Busy || len(asked.outcomes) != 0 {
		t.Errorf("resolving an open transaction gives %v and %v", err, asked.outcomes)
	}
	l.want(t, "done", "done")
}

// TestPaging reads more rows than a page holds, with bodies that are larger
// than a page may be. Behind PgBouncer each page may come by another session.
func TestPaging(t *testing.T) {
	s := pooled(t)
	s.exec(t, jobDDL+`INSERT INTO j (id, failed_at) SELECT i, now() - i / 3 * interval '1 s' FROM generate_series(1, 2500) i;
		INSERT INTO j (id, payload, failed_at) SELECT i, to_json(repeat('x', 3000000)), now() + interval '1 h' FROM generate_series(3001, 3007) i`)
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	for _, bodies := range []bool{false, true} {
		seen, size := map[string]bool{}, 0
		for l, err := range st.Scan(t.Context(), backends.Query{Queue: "jobs", Bodies: bodies}) {
			if err != nil {
				t.Fatalf("scanning: %v", err)
			}
			if seen[l.ID] {
				t.Fatalf("the letter %s comes twice", l.ID)
			}
			seen[l.ID] = true
			size += l.Payload.Size
		}
		if want := 2500*len(`{"a":1}`) + 7*3000002; len(seen) != 2507 || size != want {
			t.Errorf("with bodies %v: %d letters of %d bytes, want 2507 of %d", bodies, len(seen), size, want)
		}
	}
}

// TestLargeOrder sends more than one ticket covers.
func TestLargeOrder(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) SELECT generate_series(1, 1201)")
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	l, err := redrive(t, st, jobItems(t, st), "reset")
	if err != nil || len(l.outcomes) != 1201 {
		t.Fatalf("%d outcomes (%v), want 1201", len(l.outcomes), err)
	}
	if got := s.text(t, "SELECT string_agg(items::text, ' ' ORDER BY items) FROM receipts"); got != "201 500 500" {
		t.Errorf("the receipts cover %s", got)
	}
}
