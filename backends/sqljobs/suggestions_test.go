package sqljobs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// suggested takes the statement out of a warning or a hint that starts with a
// word, empty if there is none.
func suggested(text, word string) string {
	i := strings.Index(text, word)
	if i < 0 {
		return ""
	}
	line, _, _ := strings.Cut(text[i:], "\n")
	return line
}

// conditions are dead predicates of the kinds that an index takes, and of those
// that it does not.
var conditions = []struct{ dead string }{
	{dead: "{column: status, in: [failed]}"},
	{dead: "{column: status, in: [failed, \"it's dead\"]}"},
	{dead: `{where: "status = 'failed' OR attempts >= 25"}`},
	{dead: `{where: "status IN ('failed', 'dead') AND locked_by IS NULL"}`},
	{dead: `{where: "lower(status) = 'failed'"}`},
	{dead: "volatile"}, // each dialect has its own
}

// TestSuggestedIndexes runs every statement that a check suggests on the
// database that it is for, and then the check suggests no more.
func TestSuggestedIndexes(t *testing.T) {
	const ddl = `CREATE TABLE "My Jobs" (id bigint PRIMARY KEY, "the queue" text NOT NULL, payload text NOT NULL, status text NOT NULL, attempts int NOT NULL, locked_by text, failed_at text, died text NOT NULL DEFAULT '')`
	const section = `
  id: id
  payload: payload
  attempts: attempts
  redrive: {update: {set: {status: queued}}}
`
	volatile := map[bool]string{
		true:  `{where: "failed_at < CURRENT_TIMESTAMP::text"}`,
		false: `{where: "failed_at < CURRENT_TIMESTAMP AND failed_at < datetime('now')"}`,
	}
	for _, c := range conditions {
		for _, extra := range []string{"  queue: the queue\n  dead_at: failed_at\n", "  dead_at: died\n"} {
			queue := ""
			if strings.Contains(extra, "queue") {
				queue = "default"
			}
			mapped := func(table string, postgres bool) string {
				dead := c.dead
				if dead == "volatile" {
					dead = volatile[postgres]
				}
				return "receipts: none\njobs:\n  table: [" + table + "]" + section + extra + "  dead: " + dead + "\n"
			}
			t.Run("postgres "+c.dead+queue, func(t *testing.T) {
				s := newSchema(t)
				s.exec(t, ddl+`; GRANT SELECT, UPDATE ON "My Jobs" TO READER, WRITER`)
				st := s.open(t, mapped(s.name+", My Jobs", true), map[string]string{"jobs": queue})
				defer st.Close()
				index(t, st, func(q string) { s.exec(t, q) })
			})
			t.Run("sqlite "+c.dead+queue, func(t *testing.T) {
				f := newFile(t, ddl+`; CREATE TABLE "my jobs_dead_letters" (x); CREATE INDEX other ON "My Jobs" (status)`)
				st := f.open(t, "file: jobs.db\n"+mapped("My Jobs", false), map[string]string{"jobs": queue})
				defer st.Close()
				index(t, st, func(q string) { f.exec(t, q) })
			})
		}
	}
	t.Run("partitioned", func(t *testing.T) {
		s := newSchema(t)
		s.exec(t, compositeShape.ddl+`; DROP INDEX "Job_order_failed_at_tenant_id_idx"`)
		st := s.open(t, compositeShape.mapping, twoQueues)
		defer st.Close()
		index(t, st, func(q string) { s.exec(t, q) })
	})
}

func index(t *testing.T, st backends.Store, exec func(string)) {
	t.Helper()
	warnings, err := checkUp(t, st)
	must(t, err)
	statement := suggested(warnings, "CREATE INDEX")
	if statement == "" {
		t.Fatalf("no index is suggested: %s", warnings)
	}
	exec(statement)
	if warnings, err := checkUp(t, st); err != nil || strings.Contains(warnings, "CREATE INDEX") {
		t.Errorf("after %s the check still says %s (%v)", statement, warnings, err)
	}
}

// TestSuggestedGrants takes every privilege from both roles and runs what the
// errors suggest, one after another, until a check, a redrive and a patch pass.
func TestSuggestedGrants(t *testing.T) {
	for name, sh := range map[string]shape{"enum": enumShape, "partitions": compositeShape, "insert": moveShape, "no time of death": plainShape,
		"delete": {ddl: tombDDL, mapping: strings.Replace(tombMapping, "SCHEMA.x", "x", 1), queues: map[string]string{"jobs": "default"},
			kill: "INSERT INTO tomb (id, q, body) SELECT 1, $1, $2::text::jsonb FROM (SELECT $3::text, $4::text, $5::timestamptz) x RETURNING id::text"}} {
		t.Run(name, func(t *testing.T) {
			s := newSchema(t)
			s.exec(t, sh.ddl+`; REVOKE ALL ON SCHEMA SCHEMA FROM READER, WRITER; REVOKE ALL ON ALL TABLES IN SCHEMA `+s.name+` FROM READER, WRITER`)
			// Rights of columns are taken column by column.
			s.exec(t, `DO $$ DECLARE r record; BEGIN FOR r IN SELECT attrelid::regclass AS t, attname AS c FROM pg_attribute a JOIN pg_class k ON k.oid = attrelid
				WHERE relnamespace = '`+s.name+`'::regnamespace AND attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p')
				LOOP EXECUTE format('REVOKE ALL (%I) ON %s FROM READER, WRITER', r.c, r.t); END LOOP; END $$`)
			s.text(t, sh.kill, "default", `{"a": 1}`, "e", "j", "2026-01-02T03:04:05Z")
			seen := map[string]bool{}
			grant := func(text string) bool {
				statement := suggested(text, "GRANT")
				if statement == "" {
					return false
				}
				if seen[statement] {
					t.Fatalf("%s did not help", statement)
				}
				seen[statement] = true
				s.exec(t, statement)
				return true
			}
			for {
				st := s.open(t, sh.mapping, sh.queues)
				warnings, err := checkUp(t, st)
				st.Close()
				e, _ := errors.AsType[*backends.Error](err)
				if err != nil && !grant(hint(e)) {
					t.Fatalf("the check fails for good: %v", err)
				}
				if err == nil && !grant(warnings) {
					break
				}
			}
			if len(seen) < 4 {
				t.Errorf("only these were missing: %v", seen)
			}
			st := s.open(t, sh.mapping, sh.queues)
			defer st.Close()
			items := jobItems(t, st)
			items[0].Body = []byte(`{"a": 2}`)
			attempts := "reset"
			if sh.facts.Limit {
				attempts = "5"
			}
			l, err := redrive(t, st, items, attempts)
			must(t, err)
			l.want(t, "done")
		})
	}
}

// TestOptionalGrants: a check names what only some redrives need, and such
// redrives are refused until then.
func TestOptionalGrants(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"REVOKE UPDATE ON j FROM WRITER; GRANT UPDATE (status, failed_at, attempts) ON j TO WRITER; INSERT INTO j (id) VALUES (1), (2)")
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	items := jobItems(t, st)
	items[0].Body = []byte(`{"a":2}`)
	for _, c := range []struct{ what, column, attempts string }{{"patches", "payload", "reset"}, {"number of attempts", "max_attempts", "5"}} {
		warnings, err := checkUp(t, st)
		must(t, err)
		want := `until GRANT UPDATE ("` + c.column + `") ON "` + s.name + `"."j" TO "` + s.writer + `";`
		line := suggested(warnings, c.what)
		if !strings.Contains(line, want) {
			t.Fatalf("the warnings lack %q:\n%s", want, warnings)
		}
		if _, err := redrive(t, st, items[:1], c.attempts); backends.CodeOf(err) != backends.NoAccess {
			t.Errorf("before the grant %s give %v", c.what, err)
		}
		s.exec(t, suggested(line, "GRANT"))
		l, err := redrive(t, st, items[:1], c.attempts)
		must(t, err)
		l.want(t, "done")
		if warnings, err := checkUp(t, st); err != nil || strings.Contains(warnings, c.what) {
			t.Errorf("after the grant the check still says %s (%v)", warnings, err)
		}
		items = items[1:]
		for i := range items {
			items[i].N = i
		}
	}
	text := strings.Replace(jobMapping, "payload: payload", "payload: {column: payload, format: text}", 1)
	s.exec(t, "REVOKE UPDATE (payload, max_attempts) ON j FROM WRITER")
	bare := s.open(t, strings.NewReplacer("payload: payload", "payload: {column: payload, format: text}", "  max_attempts: max_attempts\n", "").Replace(text), map[string]string{"jobs": "default"})
	defer bare.Close()
	if warnings, err := checkUp(t, bare); err != nil || strings.Contains(warnings, "GRANT") {
		t.Errorf("where neither can be asked for the check says %s (%v)", warnings, err)
	}
}
