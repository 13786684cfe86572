package sqljobs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
)

// TestMissingPrivileges: a privilege that only some redrives need is a warning
// of the check-up, and whatever is missing when a redrive runs is named with its
// GRANT, also when it was there at the first one.
func TestMissingPrivileges(t *testing.T) {
	for _, c := range []struct {
		name, revoke string
		warns        string // of the check-up; empty: it fails
		attempts     string
		patched      bool
		grant        string
	}{
		{"payload", "REVOKE UPDATE ON j FROM WRITER; GRANT UPDATE (status, attempts, max_attempts, failed_at) ON j TO WRITER",
			"patches will be refused", "reset", true, `GRANT UPDATE ("payload") ON "SCHEMA"."j" TO "WRITER";`},
		{"limit", "REVOKE UPDATE ON j FROM WRITER; GRANT UPDATE (status, attempts, payload, failed_at) ON j TO WRITER",
			"with a number of attempts will be refused", "5", false, `GRANT UPDATE ("max_attempts") ON "SCHEMA"."j" TO "WRITER";`},
		{"set column", "REVOKE UPDATE ON j FROM WRITER; GRANT UPDATE (status, attempts, payload) ON j TO WRITER",
			"", "reset", false, `GRANT UPDATE ("failed_at") ON "SCHEMA"."j" TO "WRITER";`},
		{"receipts", "REVOKE INSERT ON receipts FROM WRITER",
			"", "reset", false, `GRANT INSERT ("ticket", "sent_at", "queue", "items", "new_ids") ON "SCHEMA"."receipts" TO "WRITER";`},
		{"reading", "REVOKE SELECT ON j FROM WRITER; GRANT SELECT (id, q, status) ON j TO WRITER",
			"", "reset", false, `GRANT SELECT ("payload", "attempts", "max_attempts", "key", "failed_at") ON "SCHEMA"."j" TO "WRITER";`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSchema(t)
			s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1), (2)")
			st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
			defer st.Close()
			items := jobItems(t, st)
			if l, err := redrive(t, st, items[:1], "reset"); err != nil || l.outcomes[0].State != backends.Done {
				t.Fatalf("with all privileges: %v, %v", err, l.outcomes)
			}
			s.exec(t, c.revoke)
			grant := strings.NewReplacer("SCHEMA", s.name, "WRITER", s.writer).Replace(c.grant)
			warnings, err := checkUp(t, st)
			switch {
			case c.warns == "" && (err == nil || !strings.Contains(errHint(err), grant)):
				t.Errorf("the check-up gives %v, hint %q, want %s", err, errHint(err), grant)
			case c.warns != "" && (err != nil || !strings.Contains(warnings, c.warns) || !strings.Contains(warnings, grant)):
				t.Errorf("the check-up gives %v and warns %q, want %q and %s", err, warnings, c.warns, grant)
			}
			rest := items[1:]
			if c.patched {
				rest[0].Body = []byte(`{"a":2}`)
			}
			l, err := redrive(t, st, rest, c.attempts)
			if backends.CodeOf(err) != backends.NoAccess || errHint(err) != grant || len(l.outcomes) > 0 {
				t.Fatalf("the redrive gives %v, hint %q, outcomes %v, want %s", err, errHint(err), l.outcomes, grant)
			}
			s.exec(t, grant)
			if l, err = redrive(t, st, rest, c.attempts); err != nil || l.outcomes[1].State != backends.Done {
				t.Errorf("after the GRANT: %v, %v", err, l.outcomes)
			}
		})
	}
}

// TestTriggerDenied: what a trigger may not do is no privilege on the table.
func TestTriggerDenied(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+`INSERT INTO j (id) VALUES (1); CREATE TABLE history (id int);
		CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO SCHEMA.history VALUES (NEW.id); RETURN NEW; END';
		CREATE TRIGGER keep BEFORE UPDATE ON j FOR EACH ROW EXECUTE FUNCTION keep()`)
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	_, err := redrive(t, st, jobItems(t, st), "reset")
	if backends.CodeOf(err) != backends.NoAccess || !strings.Contains(errHint(err), "trigger") {
		t.Errorf("the redrive gives %v, hint %q", err, errHint(err))
	}
	if warnings, err := checkUp(t, st); err != nil || !strings.Contains(warnings, `the trigger "keep"`) {
		t.Errorf("the check-up gives %v and warns %q", err, warnings)
	}
}

func errHint(err error) string {
	e, _ := errors.AsType[*backends.Error](err)
	return hint(e)
}

// TestNoWriter: without a connection string for redrives there is still
// looking, and a redrive says which variable it is.
func TestNoWriter(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
	for _, dsn := range []string{"", "host=h user=hunter2"} {
		c := s.config(t, jobMapping, map[string]string{"jobs": "default"})
		c.Env = func(name string) (string, bool) {
			if name == "WRITE_DSN" {
				return dsn, dsn != ""
			}
			return s.env(name)
		}
		st := mustOpen(t, c)
		defer st.Close()
		items := jobItems(t, st)
		if d, err := st.Depth(t.Context(), "jobs"); err != nil || d.Letters != 1 {
			t.Errorf("looking gives %v, %v", d, err)
		}
		if _, err := st.Target(t.Context(), "jobs"); err != nil {
			t.Errorf("the target: %v", err)
		}
		_, err := redrive(t, st, items, "reset")
		if backends.CodeOf(err) != backends.BadMapping || !strings.Contains(err.Error(), "WRITE_DSN") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a redrive with %q gives %v", dsn, err)
		}
		if dsn == "" && !strings.Contains(errHint(err), "WRITE_DSN") {
			t.Errorf("the hint is %q", errHint(err))
		}
		if _, err := checkUp(t, st); !strings.Contains(err.Error(), "WRITE_DSN") {
			t.Errorf("the check-up gives %v", err)
		}
	}

	c := s.config(t, jobMapping, map[string]string{"jobs": "default"})
	c.Env = func(name string) (string, bool) { return s.as(s.writer), name == "WRITE_DSN" }
	if st, err := sqljobs.Postgres().Open(c); err == nil || !strings.Contains(err.Error(), "READ_DSN") {
		t.Errorf("with the writing role alone: %v, %v", st, err)
	}
}
