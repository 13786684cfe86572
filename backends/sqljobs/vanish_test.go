package sqljobs_test

import (
	"errors"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// vanish renames each column, and then the table, under a store that has read
// and redriven before. Whatever is asked must be an error in our own words, and
// must change nothing.
func vanish(t *testing.T, st backends.Store, table string, columns []string, exec func(string), state func() string) {
	items := jobItems(t, st)
	if _, err := redrive(t, st, nil, "reset"); err != nil {
		t.Fatalf("a redrive of nothing: %v", err)
	}
	before := state()
	ask := func(what string) {
		for name, err := range map[string]error{
			"scan": scanErr(t, st, false), "scan with bodies": scanErr(t, st, true),
			"redrive": second(redrive(t, st, items, "reset")),
			"resolve": st.Resolve(t.Context(), "jobs", doubts(items, "t"), &ledger{}),
		} {
			e, ok := errors.AsType[*backends.Error](err)
			if !ok || e.Code != backends.BadMapping || e.Sentence == "" || e.Hint == "" {
				t.Errorf("%s without %s gives %v (%s), want bad_mapping with a sentence and a hint", name, what, err, backends.CodeOf(err))
			}
		}
	}
	for _, c := range columns {
		exec(`ALTER TABLE ` + table + ` RENAME COLUMN "` + c + `" TO elsewhere`)
		ask("the column " + c)
		exec(`ALTER TABLE ` + table + ` RENAME COLUMN elsewhere TO "` + c + `"`)
	}
	exec(`ALTER TABLE ` + table + ` RENAME TO elsewhere`)
	ask("the table")
	exec(`ALTER TABLE elsewhere RENAME TO ` + table)
	if after := state(); after != before {
		t.Errorf("the rows were %s and are %s", before, after)
	}
	l, err := redrive(t, st, items, "reset")
	if err != nil || l.outcomes[0].State != backends.Done {
		t.Errorf("with every name back: %v, %v", err, l.outcomes)
	}
}

func second[T any](_ T, err error) error { return err }

func scanErr(t *testing.T, st backends.Store, bodies bool) error {
	for _, err := range st.Scan(t.Context(), backends.Query{Queue: "jobs", Bodies: bodies}) {
		return err
	}
	return nil
}

func TestPostgresVanish(t *testing.T) {
	s := newSchema(t)
	s.exec(t, enumShape.ddl+`; INSERT INTO job (state, queue, kind, args, attempt, max_attempts, finalized_at) VALUES ('discarded', 'default', 'k', '{}', 3, 3, now())`)
	st := s.open(t, enumShape.mapping, map[string]string{"jobs": "default"})
	defer st.Close()
	vanish(t, st, "job", []string{"id", "state", "queue", "kind", "args", "attempt", "max_attempts", "errors", "created_at", "attempted_at", "finalized_at", "scheduled_at", "priority"},
		func(q string) { s.exec(t, q) }, func() string { return s.text(t, "SELECT job::text FROM job") })
}

func TestSQLiteVanish(t *testing.T) {
	f := newFile(t, sqliteDDL+`INSERT INTO jobs (id, queue, payload, status, attempts, max_attempts, created_at, failed_at)
		VALUES (1, 'default', '{}', 'failed', 3, 3, '2026-01-02 03:04:05', '2026-01-02 03:04:05')`)
	st := f.open(t, sqliteMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	columns := []string{"id", "queue", "job_type", "payload", "status", "attempts", "max_attempts", "last_error", "created_at", "tried_at", "failed_at", "locked_by", "run_at", "priority"}
	vanish(t, st, "jobs", columns, func(q string) { f.exec(t, q) }, func() string { return f.text(t, "SELECT status || attempts || failed_at FROM jobs") })
}

// TestSQLiteReceiptsVanish: a receipts table that was taken away proves
// nothing, so an intent stays in doubt.
func TestSQLiteReceiptsVanish(t *testing.T) {
	f := newFile(t, sqliteDDL+`INSERT INTO jobs (id, queue, payload, status, attempts, max_attempts, created_at, failed_at)
		VALUES (1, 'default', '{}', 'failed', 3, 3, '2026-01-02 03:04:05', '2026-01-02 03:04:05')`)
	st := f.open(t, sqliteMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	items := jobItems(t, st)
	l, err := redrive(t, st, items, "reset")
	if err != nil {
		t.Fatalf("redriving: %v", err)
	}
	f.exec(t, "DROP TABLE redrive_receipts")
	asked := &ledger{}
	if err := st.Resolve(t.Context(), "jobs", doubts(items, l.ticket), asked); backends.CodeOf(err) != backends.BadMapping || len(asked.outcomes) > 0 {
		t.Errorf("without the receipts the verdict is %v (%v)", asked.outcomes, err)
	}
}
