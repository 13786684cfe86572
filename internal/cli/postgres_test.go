package cli_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// pg is the application on a real PostgreSQL server:
//
//	pg new                          a schema of its own, with a role that reads and one that writes,
//	                                which have the documented grants and nothing more
//	pg kill QUEUE COUNT ERROR BODY  add dead jobs; # in BODY is the id
//	pg sql STATEMENTS               by the superuser; {S} is the schema
//	pg work                         work off what is queued, as a worker would, into the file worked
func pg(ts *testscript.TestScript, neg bool, args []string) {
	dsn := os.Getenv("REDRIVE_TEST_POSTGRES")
	if dsn == "" {
		ts.Fatalf("REDRIVE_TEST_POSTGRES is not set: run ./testdata/test.sh, which starts the servers that the tests need")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	ts.Check(err)
	defer conn.Close(ctx)
	switch args[0] {
	case "new":
		pgNew(ts, conn, dsn)
	case "kill":
		_, err = conn.Exec(ctx, pgFill(ts, `INSERT INTO {S}.jobs (queue, kind, payload, status, attempts, last_error, failed_at)
			SELECT $1, 'charge', '{}', 'failed', 3, $3, now() - interval '1 hour' + n * interval '1 second' FROM generate_series(1, $2::int) n`), args[1], args[2], args[3])
		ts.Check(err)
		_, err = conn.Exec(ctx, pgFill(ts, `UPDATE {S}.jobs SET payload = replace($1, '#', id::text)::json WHERE payload::text = '{}'`), args[4])
		ts.Check(err)
	case "sql":
		_, err = conn.Exec(ctx, pgFill(ts, args[1]))
		ts.Check(err)
	case "work":
		pgWork(ts, conn)
	}
}

func pgFill(ts *testscript.TestScript, sql string) string {
	s := ts.Getenv("SCHEMA")
	return strings.NewReplacer("{S}", s, "READER", s+"_r", "WRITER", s+"_w").Replace(sql)
}

func pgNew(ts *testscript.TestScript, conn *pgx.Conn, dsn string) {
	ts.Setenv("SCHEMA", "t_"+strings.ToLower(rand.Text()[:12]))
	_, err := conn.Exec(context.Background(), pgFill(ts, `CREATE SCHEMA {S}; CREATE ROLE READER LOGIN; CREATE ROLE WRITER LOGIN;
		CREATE TABLE {S}.jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, kind text NOT NULL, payload json NOT NULL,
			status text NOT NULL, attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 3, last_error text,
			created_at timestamptz NOT NULL DEFAULT now(), failed_at timestamptz, locked_by text);
		CREATE INDEX ON {S}.jobs (failed_at DESC, id DESC) WHERE status IN ('failed');
		CREATE TABLE {S}.receipts (ticket text PRIMARY KEY, sent_at timestamptz NOT NULL, queue text NOT NULL, items integer NOT NULL, new_ids jsonb NOT NULL);
		GRANT USAGE ON SCHEMA {S} TO READER, WRITER; GRANT SELECT ON {S}.jobs TO READER, WRITER;
		GRANT UPDATE (status, attempts, failed_at, locked_by, payload) ON {S}.jobs TO WRITER;
		GRANT SELECT, INSERT ON {S}.receipts TO WRITER;`))
	ts.Check(err)
	ts.Defer(func() {
		ctx := context.Background()
		if c, err := pgx.Connect(ctx, dsn); err == nil {
			c.Exec(ctx, pgFill(ts, "DROP SCHEMA {S} CASCADE; DROP OWNED BY READER, WRITER; DROP ROLE READER, WRITER"))
			c.Close(ctx)
		}
	})
	for name, role := range map[string]string{"APP_RO_DSN": "_r", "APP_RW_DSN": "_w"} {
		u, err := url.Parse(dsn)
		ts.Check(err)
		u.User = url.UserPassword(ts.Getenv("SCHEMA")+role, "unused")
		ts.Setenv(name, u.String())
	}
}

// pgWork takes every queued job, as a worker would, and keeps what it was given.
func pgWork(ts *testscript.TestScript, conn *pgx.Conn) {
	rows, err := conn.Query(context.Background(), pgFill(ts, `WITH taken AS (UPDATE {S}.jobs SET status = 'done' WHERE status = 'queued' RETURNING id, payload)
		SELECT id::text || ' ' || payload::text FROM taken ORDER BY id`))
	ts.Check(err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("worked"), []byte(strings.Join(lines, "\n")+fmt.Sprintf("\n%d jobs\n", len(lines))), 0o600))
}
