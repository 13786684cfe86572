package sqljobs_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// replicated is a schema whose reader is on the replica.
func replicated(t *testing.T) *schema {
	t.Helper()
	s := newSchema(t)
	s.reads = server(t, "REDRIVE_TEST_PG_REPLICA")
	return s
}

func pgxTo(t *testing.T, u *url.URL, database string) (*pgx.Conn, error) {
	t.Helper()
	at := *u
	if database != "" {
		at.Path = "/" + database
	}
	return pgx.Connect(t.Context(), at.String())
}

// onReplica asks the replica for a text.
func onReplica(t *testing.T, q string, args ...any) (out string) {
	t.Helper()
	conn, err := pgxTo(t, server(t, "REDRIVE_TEST_PG_REPLICA"), "")
	must(t, err)
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), q, args...).Scan(&out); err != nil {
		t.Fatalf("%s on the replica: %v", q, err)
	}
	return out
}

// replayed waits until the replica has replayed all that was done so far.
func (s *schema) replayed(t *testing.T) {
	t.Helper()
	s.exec(t, "SET synchronous_commit = on")
	at := s.text(t, "SELECT pg_logical_emit_message(true, '', '')::text")
	for end := time.Now().Add(30 * time.Second); onReplica(t, "SELECT (pg_last_wal_replay_lsn() >= $1::text::pg_lsn)::text", at) != "true"; {
		if time.Now().After(end) {
			t.Fatal("the replica does not follow")
		}
	}
}

// paused holds the replay of the replica while do runs.
func (s *schema) paused(t *testing.T, do func()) {
	t.Helper()
	s.replayed(t)
	onReplica(t, "SELECT pg_wal_replay_pause()::text")
	defer onReplica(t, "SELECT pg_wal_replay_resume()::text")
	for onReplica(t, "SELECT pg_get_wal_replay_pause_state()") != "paused" {
		s.exec(t, "SELECT pg_logical_emit_message(true, '', '')") // it pauses at a record
	}
	do()
}

// database makes a database, perhaps a copy of another one, for as long as do runs.
func (s *schema) database(t *testing.T, of string, do func(name string)) {
	t.Helper()
	name := s.name + "_copy" + of[max(0, len(of)-1):]
	if of != "" {
		of = " TEMPLATE " + of
	}
	s.exec(t, "CREATE DATABASE "+name+of)
	defer s.exec(t, "DROP DATABASE "+name+" WITH (FORCE)")
	do(name)
}

// TestReplicaToWrite: a connection for redrives that leads to a replica is
// refused before anything is asked of it, by the check-up and by a redrive.
func TestReplicaToWrite(t *testing.T) {
	s := replicated(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
	s.writes = s.reads
	s.replayed(t)
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	items := jobItems(t, st)
	_, checked := checkUp(t, st)
	l, sent := redrive(t, st, items, "reset")
	settled := st.Resolve(t.Context(), "jobs", doubts(items, "t"), l)
	for what, err := range map[string]error{"the check-up": checked, "a redrive": sent, "settling": settled} {
		if backends.CodeOf(err) != backends.ReadOnly || !strings.Contains(err.Error(), "replica") || !strings.Contains(errHint(err), "dsn_env, must lead to the primary") {
			t.Errorf("%s on a replica gives %v, hint %q", what, err, errHint(err))
		}
	}
	if len(l.outcomes) > 0 || l.ticket != "" {
		t.Errorf("on a replica something was intended or recorded: %v", l.outcomes)
	}
}

// TestReplicaToRead: looking on a replica and redriving on the primary, while
// the replica follows and while it lags. What it shows that is not so any more is
// refused when it is sent, what it does not show yet is not found, and what became
// of a redrive is asked of the primary.
func TestReplicaToRead(t *testing.T) {
	s := replicated(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) SELECT generate_series(1, 7)")
	s.replayed(t)
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	if warnings, err := checkUp(t, st); err != nil || strings.Contains(warnings, "behind") {
		t.Fatalf("a replica that follows: %v, %s", err, warnings)
	}
	items := jobItems(t, st)
	l, err := redrive(t, st, items[:1], "reset")
	must(t, err)
	l.want(t, "done")
	s.paused(t, func() {
		s.exec(t, "UPDATE j SET status = 'queued', failed_at = NULL WHERE id = 2")
		s.exec(t, "UPDATE j SET failed_at = now() WHERE id = 3") // it was retried and died again
		s.exec(t, `UPDATE j SET payload = '{"a":2}' WHERE id = 4`)
		s.exec(t, "DELETE FROM j WHERE id = 5")
		s.exec(t, "INSERT INTO j (id) VALUES (8)")
		if got := ids(t, st, "2", "3", "4", "5", "6", "8"); len(got) != 5 {
			t.Errorf("a replica that lags shows %q", got)
		}
		if l, err = redrive(t, st, items[:6], "reset"); err != nil {
			t.Fatalf("redriving: %v", err)
		}
		l.want(t, "skipped gone", "skipped gone", "skipped changed", "skipped changed", "skipped gone", "done")
		if got := s.text(t, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM j WHERE status = 'queued'"); got != "1 2 6" {
			t.Errorf("queued are %s", got)
		}

		// The replica still shows the row as dead, and has no receipt.
		if err := st.Resolve(t.Context(), "jobs", doubts(items[5:6], l.ticket), l); err != nil {
			t.Fatalf("settling: %v", err)
		}
		l.want(t, "skipped gone", "skipped gone", "skipped changed", "skipped changed", "skipped gone", "done")
		if err := st.Resolve(t.Context(), "jobs", doubts(items[6:], "never"), l); err != nil || l.outcomes[6].State != backends.Claimed {
			t.Errorf("settling what was not sent: %v, %v", err, l.outcomes[6])
		}

		lag, err := st.(backends.Lagging).Lag(t.Context(), "jobs")
		if err != nil || lag <= 0 {
			t.Errorf("a replica that is held is %s behind (%v)", lag, err)
		}
	})
	s.replayed(t)
	if got := ids(t, st, "2", "3", "4", "5", "6", "7", "8"); len(got) != 4 {
		t.Errorf("a replica that follows again shows %q", got)
	}
	if lag, err := st.(backends.Lagging).Lag(t.Context(), "jobs"); err != nil || lag != 0 {
		t.Errorf("a replica that follows is %s behind (%v)", lag, err)
	}
}

// TestReplicaWithoutReceipts: the proof that nothing was sent is a row that is dead on
// the primary. One that is dead on a replica is none.
func TestReplicaWithoutReceipts(t *testing.T) {
	s := replicated(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1), (2)")
	s.replayed(t)
	st := s.open(t, strings.Replace(jobMapping, "receipts: SCHEMA.receipts\n", "", 1), map[string]string{"jobs": "default"})
	defer st.Close()
	items := jobItems(t, st)
	s.paused(t, func() {
		l, err := redrive(t, st, items[:1], "reset")
		must(t, err)
		must(t, st.Resolve(t.Context(), "jobs", doubts(items[:1], l.ticket), l))
		l.want(t, "unknown no_answer")
	})
}

// TestPrimaryAway: while the primary is away looking on the replica goes on, at
// the same target, and a redrive says that it cannot be reached.
func TestPrimaryAway(t *testing.T) {
	s := replicated(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
	s.replayed(t)
	here := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer here.Close()
	away := *s.writes
	away.Host = "127.0.0.1:1"
	s.writes = &away
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	if at := targetOf(t, st); at.Physical() != targetOf(t, here).Physical() || !strings.Contains(at.Via, "127.0.0.1:1 "+s.writer) {
		t.Errorf("without the primary the target is %q", at)
	}
	l, err := redrive(t, st, jobItems(t, st), "reset")
	if backends.CodeOf(err) != backends.Unreachable || len(l.outcomes) > 0 {
		t.Errorf("a redrive without the primary gives %v, %v", err, l.outcomes)
	}
}

// TestCopyOfADatabase: a database that was copied has the same tables under the
// same numbers. Looking at one and redriving in the other is refused, and so is a
// redrive where a copy was put in the place of the database that was looked at.
func TestCopyOfADatabase(t *testing.T) {
	s := newSchema(t)
	section := strings.Replace(jobMapping, "receipts: SCHEMA.receipts\n", "", 1)
	to := func(read, write string) backends.Store {
		reads, writes := *s.dsn, *s.dsn
		reads.Path, writes.Path = "/"+read, "/"+write
		s.reads, s.writes = &reads, &writes
		st := s.open(t, section, map[string]string{"jobs": "default"})
		t.Cleanup(func() { st.Close() })
		return st
	}
	refused := func(st backends.Store, items []backends.Item, what string) {
		t.Helper()
		l, err := redrive(t, st, items, "reset")
		if backends.CodeOf(err) != backends.BadMapping || !strings.Contains(err.Error(), "another database") || len(l.outcomes) > 0 {
			t.Errorf("a redrive in %s gives %v, %v", what, err, l.outcomes)
		}
	}
	s.database(t, "", func(one string) {
		conn, err := pgxTo(t, s.dsn, one)
		must(t, err)
		_, err = conn.Exec(t.Context(), s.fill("CREATE SCHEMA SCHEMA; GRANT USAGE ON SCHEMA "+s.name+" TO READER, WRITER; SET search_path = SCHEMA, pg_catalog;"+jobDDL+"INSERT INTO j (id) VALUES (1), (2)"))
		must(t, err)
		must(t, conn.Close(context.Background()))
		s.database(t, one, func(two string) {
			st := to(one, two)
			refused(st, jobItems(t, st), "a copy")

			st = to(one, one)
			items := jobItems(t, st)
			l, err := redrive(t, st, items[:1], "reset")
			must(t, err)
			l.want(t, "done")
			before := targetOf(t, st)
			rename := func(from, to string) {
				s.text(t, "SELECT count(pg_terminate_backend(pid, 5000))::text FROM pg_stat_activity WHERE datname = $1", from)
				s.exec(t, "ALTER DATABASE "+from+" RENAME TO "+to)
			}
			rename(one, one+"_old")
			rename(two, one)
			refused(st, items[1:], "a copy of that name")
			if at := targetOf(t, st); at.Physical() == before.Physical() {
				t.Errorf("the database and its copy are one place, %q", at)
			}
			l, err = redrive(t, st, jobItems(t, st), "reset")
			must(t, err)
			l.want(t, "done", "done")
			rename(one, two)
			rename(one+"_old", one)
		})
	})
}
