package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/internal/durable"
)

// oldFile makes a ledger of version 1: r-over is done and its outcome 0 is in
// the log, outcome 1 is not; r-run is running.
func oldFile(t *testing.T) *durable.Folder {
	t.Helper()
	state := newState(t)
	path, _, err := prepare(state)
	must(t, err)
	db, err := connect(path, 1, lockWait, "")
	must(t, err)
	defer db.Close()
	old, err := os.ReadFile("testdata/schema-1.sql")
	must(t, err)
	for _, q := range []string{
		string(old),
		`INSERT INTO plans(id, digest, bytes, queue, letters, physical, mode, state, kind, principal, session, same, idem, created, expires, not_after, ended)
			SELECT value, 'digest of ' || value, x'01', 'mail', 'db/jobs', 'db/jobs#mail', 'approval', iif(value = 'r-over', 'done', 'running'), 'agent', 'luis', 's', 'same', '', 1, 2, 3, iif(value = 'r-over', 4, 0)
			FROM json_each('["r-over","r-run"]')`,
		`INSERT INTO items(plan, n, letters, id, mark, digest, salt, state, open, ticket, intended, at)
			SELECT iif(value < 3, 'r-over', 'r-run'), value, 'db/jobs', 'id' || value, 'm', x'00', x'00', iif(value = 4, 'intended', 'done'), 0, 't-' || value, 5, 5 FROM json_each('[0,1,2,3,4]')`,
		`INSERT INTO batches(ticket, plan, run, physical, n, at, recorded)
			SELECT 't-' || value, iif(value < 3, 'r-over', 'r-run'), 'x', 'db/jobs#mail', 1, 5, CASE value WHEN 0 THEN 2 WHEN 2 THEN 2 WHEN 4 THEN 0 ELSE 1 END FROM json_each('[0,1,2,3,4]')`,
		`PRAGMA user_version = 1`,
	} {
		_, err := db.Exec(q)
		must(t, err)
	}
	return state
}

// schemaOf is what a ledger's tables and indexes are made of.
func schemaOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.Query(`SELECT m.type, m.name, coalesce(c.name, ''), coalesce(c.type, ''), coalesce(c."notnull", 0), coalesce(c.dflt_value, ''), coalesce(c.pk, 0), iif(m.type = 'index', m.sql, '')
		FROM sqlite_schema m LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' WHERE m.name NOT LIKE 'sqlite_%' ORDER BY 1, 2, 3`)
	must(t, err)
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var v [8]any
		must(t, rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]))
		fmt.Fprintln(&out, v[:]...)
	}
	must(t, rows.Err())
	return out.String()
}

func TestUpgrade(t *testing.T) {
	clock := &frozen{now: start}
	for name, before := range map[string]func(*durable.Folder){
		"first try": func(*durable.Folder) {},
		"after one that died while it copied": func(f *durable.Folder) {
			must(t, os.WriteFile(filepath.Join(f.Path(), "ledger-version-1.db"), []byte("half a co"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := oldFile(t)
			before(state)
			var wg sync.WaitGroup // of several processes one upgrades
			for range 4 {
				wg.Go(func() {
					l, err := Open(t.Context(), state, clock.Now)
					if err != nil {
						t.Error(err)
						return
					}
					l.Close()
				})
			}
			wg.Wait()
			l := openIn(t, state, clock.Now)
			fresh, _ := newLedger(t)
			if got, want := schemaOf(t, l.write), schemaOf(t, fresh.write); got != want {
				t.Errorf("the upgraded schema is\n%s\nand a new one\n%s", got, want)
			}
			for plan, want := range map[string]string{"r-over": "[1 done]", "r-run": "[3 done]"} {
				outs, err := l.Unaudited(t.Context(), plan)
				must(t, err)
				if len(outs) != 1 || fmt.Sprint([]any{outs[0].N, outs[0].State}) != want {
					t.Errorf("%s owes %+v", plan, outs)
				}
			}
			if p, err := l.Get(t.Context(), "r-over"); p.Logged != Done || string(p.Bytes) != "\x01" || err != nil {
				t.Errorf("r-over: %+v, %v", p, err)
			}
			for it, err := range l.Items(t.Context(), "r-over") {
				must(t, err)
				if it.Ticket != fmt.Sprint("t-", it.N) {
					t.Errorf("item %d has the ticket %q", it.N, it.Ticket)
				}
			}
			if replays, err := l.Replays(t.Context(), "db/jobs", []string{"id0", "id4"}); len(replays) != 2 || replays["id0"].Count != 1 || err != nil {
				t.Errorf("replays: %+v, %v", replays, err)
			}
			wantUsed(t, l, physical, 0) // long ago
			must(t, record(t, l, "r-run", outcomes(backends.Done, 4)))

			path, err := state.CheckedPath("ledger-version-1.db")
			must(t, err)
			copied, err := connect(path, 1, lockWait, "&_pragma=query_only(1)")
			must(t, err)
			defer copied.Close()
			var version, items int
			must(t, copied.QueryRowContext(context.Background(), `SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM items)`).Scan(&version, &items))
			if version != 1 || items != 5 {
				t.Errorf("the copy has version %d and %d items", version, items)
			}
		})
	}
}
