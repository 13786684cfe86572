package sqljobs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// checkUp runs the check of an operator.
func checkUp(t *testing.T, s backends.Store) (warnings string, err error) {
	t.Helper()
	c, ok := s.(backends.Checker)
	if !ok {
		t.Fatal("the store is no Checker")
	}
	list, err := c.CheckUp(t.Context(), "jobs")
	return strings.Join(list, "\n"), err
}

// TestCheckUpRefuses: what would make a redrive fail is named before one runs.
func TestCheckUpRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		sql     string
		old     string
		new     string
		code    backends.Code
		says    string
		hints   string
		sending bool // only a redrive is refused
	}{
		{name: "no table", old: "table: SCHEMA.j", new: "table: SCHEMA.nope", code: backends.BadMapping, says: "nope"},
		{name: "columns", old: "attempts: attempts", new: "attempts: tries\n  group: grp", code: backends.BadMapping, says: "grp, tries"},
		{name: "id is not unique", old: "id: id", new: "id: [id, key]", code: backends.BadMapping, says: "unique"},
		{name: "partial index is no key", sql: "CREATE UNIQUE INDEX ON j (key) WHERE key <> ''", old: "id: id", new: "id: key", code: backends.BadMapping, says: "unique"},
		{name: "zone", sql: "ALTER TABLE j ALTER failed_at TYPE timestamp", code: backends.BadMapping, says: "time zone", hints: "tz: utc"},
		{name: "unit", old: "dead_at: failed_at", new: "dead_at: attempts", code: backends.BadMapping, says: "unit"},
		{name: "enum label of the dead", sql: "CREATE TYPE st AS ENUM ('failed', 'queued'); ALTER TABLE j ALTER status DROP DEFAULT, ALTER status TYPE st USING status::st",
			old: "[failed]", new: "[faild]", code: backends.BadMapping, says: "not possible"},
		{name: "enum label that is set", sql: "CREATE TYPE st AS ENUM ('failed', 'queued'); ALTER TABLE j ALTER status DROP DEFAULT, ALTER status TYPE st USING status::st",
			old: "status: queued", new: "status: ready", code: backends.BadMapping, says: "not possible", sending: true},
		{name: "generated", sql: "ALTER TABLE j ADD gen int GENERATED ALWAYS AS (id) STORED", old: "status: queued", new: "status: queued, gen: 1", code: backends.BadMapping, says: "generated"},
		{name: "predicate", old: "{column: status, in: [failed]}", new: "{where: nonsense = 1}", code: backends.BadMapping, says: "column"},
		{name: "read", sql: "REVOKE SELECT ON j FROM READER", code: backends.NoAccess, says: "SELECT", hints: "GRANT SELECT"},
		{name: "schema", sql: "REVOKE USAGE ON SCHEMA SCHEMA FROM READER", code: backends.NoAccess, says: "USAGE", hints: "GRANT USAGE ON SCHEMA"},
		{name: "write", sql: "REVOKE UPDATE ON j FROM WRITER; GRANT UPDATE (status, attempts) ON j TO WRITER", code: backends.NoAccess, says: `UPDATE ("failed_at")`, hints: `GRANT UPDATE ("failed_at")`, sending: true},
		{name: "receipts", sql: "REVOKE INSERT ON receipts FROM WRITER", code: backends.NoAccess, says: "INSERT", sending: true},
		{name: "no receipts", old: "SCHEMA.receipts", new: "SCHEMA.nope", code: backends.BadMapping, says: "nope", sending: true},
		{name: "read-only", sql: "ALTER ROLE WRITER SET default_transaction_read_only = on", code: backends.ReadOnly, says: "read-only", hints: "primary", sending: true},
		{name: "view without deaths", sql: "CREATE VIEW v AS SELECT * FROM j; GRANT SELECT ON v TO READER", old: "table: SCHEMA.j", new: "table: SCHEMA.v", code: backends.BadMapping},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSchema(t)
			s.exec(t, jobDDL+c.sql)
			section := strings.Replace(jobMapping, c.old, c.new, 1)
			if c.name == "view without deaths" {
				section = strings.NewReplacer("  dead_at: failed_at\n", "", ", failed_at: null", "").Replace(section)
			}
			st := s.open(t, section, map[string]string{"jobs": "default"})
			defer st.Close()
			_, err := checkUp(t, st)
			e, ok := errors.AsType[*backends.Error](err)
			if !ok || e.Code != c.code || !strings.Contains(e.Sentence, c.says) || !strings.Contains(e.Hint, c.hints) {
				t.Fatalf("the error is %v (%s, hint %q), want %s saying %q, hint %q", err, backends.CodeOf(err), hint(e), c.code, c.says, c.hints)
			}
			if _, err := st.Depth(t.Context(), "jobs"); (err == nil) != c.sending {
				t.Errorf("looking gives %v", err)
			}
			if _, err := redrive(t, st, nil, "reset"); backends.CodeOf(err) != c.code {
				t.Errorf("a redrive gives %v, want %s", err, c.code)
			}
		})
	}
}

func hint(e *backends.Error) string {
	if e == nil {
		return ""
	}
	return e.Hint
}

// TestCheckUpWarns: what an operator should know.
func TestCheckUpWarns(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+`CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER told AFTER UPDATE ON j FOR EACH ROW EXECUTE FUNCTION f();
		ALTER TABLE j ENABLE ROW LEVEL SECURITY;
		CREATE POLICY tenant ON j USING (key = current_setting('app.tenant', true));
		INSERT INTO j (id, key) VALUES (1, 't1'), (2, 't2'); INSERT INTO j (id, key, failed_at) VALUES (3, 't1', NULL)`)
	section := strings.Replace(jobMapping, "receipts: SCHEMA.receipts", "session: {app.tenant: t1}", 1)
	st := s.open(t, section, map[string]string{"jobs": "default"})
	defer st.Close()
	warnings, err := checkUp(t, st)
	if err != nil {
		t.Fatalf("checking: %v", err)
	}
	index := `CREATE INDEX CONCURRENTLY ON "SCHEMA"."j" ("q", "failed_at" DESC, "id" DESC) WHERE "status" = 'failed' AND "failed_at" IS NOT NULL`
	index = strings.Replace(index, "SCHEMA", s.name, 1)
	for _, want := range []string{"receipts", "told", "row-level security", "have no failed_at", index} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q is not in the warnings:\n%s", want, warnings)
		}
	}
	if l := one(t, st); l.ID != "1" {
		t.Errorf("as tenant t1 there is %s", l.ID)
	}
	l, err := redrive(t, st, jobItems(t, st), "reset")
	if err != nil {
		t.Fatalf("redriving: %v", err)
	}
	l.want(t, "done")

	s.exec(t, strings.Replace(index, "CONCURRENTLY ", "", 1)+"; ALTER TABLE j DISABLE ROW LEVEL SECURITY; DROP TRIGGER told ON j; DELETE FROM j; ALTER TABLE j ALTER failed_at SET NOT NULL")
	clean := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer clean.Close()
	if warnings, err := checkUp(t, clean); err == nil && strings.Contains(warnings, "receipts") || strings.Contains(warnings, "told") || strings.Contains(warnings, "row-level") {
		t.Errorf("a table without these has the warnings %s", warnings)
	}
}

// TestReadOnlyPolicy: without a role that may write there is only looking.
func TestReadOnlyPolicy(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
	c := s.config(t, jobMapping, map[string]string{"jobs": "default"})
	dropWriter(c)
	st := mustOpen(t, c)
	defer st.Close()
	items := jobItems(t, st)
	if _, err := redrive(t, st, items, "reset"); backends.CodeOf(err) != backends.NoAccess {
		t.Errorf("a redrive without write_env gives %v", err)
	}
}
