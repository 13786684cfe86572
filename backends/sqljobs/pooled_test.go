package sqljobs_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// pooled is a schema whose roles come through PgBouncer, which gives each
// transaction whatever session of the server is free. The suite runs on most
// shapes there: sessions that are used again also save it much time.
func pooled(t testing.TB) *schema {
	t.Helper()
	s := newSchema(t)
	s.reads = server(t, "REDRIVE_TEST_PGBOUNCER")
	s.writes = s.reads
	return s
}

// ways are the ways to a server, for tests of what happens on the wire.
var ways = map[string]func(testing.TB) *schema{"direct": newSchema, "pooled": pooled}

// sessions are the numbers of a role's sessions at the server.
func (s *schema) sessions(t testing.TB, role string) []string {
	t.Helper()
	return strings.Fields(s.text(t, "SELECT COALESCE(string_agg(pid::text, ' ' ORDER BY pid), '') FROM pg_stat_activity WHERE usename = $1", role))
}

// hold opens transactions of a role through PgBouncer, all at once, so that each
// has a session of its own.
func (s *schema) hold(t *testing.T, role string, n int) []pgx.Tx {
	t.Helper()
	var txs []pgx.Tx
	for range n {
		cfg, err := pgx.ParseConfig(s.as(role))
		must(t, err)
		cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		must(t, err)
		t.Cleanup(func() { conn.Close(context.Background()) })
		tx, err := conn.Begin(t.Context())
		must(t, err)
		txs = append(txs, tx)
	}
	return txs
}

// left is what a session still has that somebody made there. PgBouncer itself
// carries the first five settings over to whoever uses the session next.
const left = `SELECT concat_ws('; ',
	(SELECT 'settings ' || string_agg(name || '=' || setting, ' ') FROM pg_settings WHERE source = 'session'
		AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'standard_conforming_strings', 'TimeZone')),
	(SELECT 'zone ' || z FROM current_setting('TimeZone') z WHERE z <> (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone')),
	(SELECT 'tenant ' || t FROM current_setting('app.tenant', true) t WHERE t <> ''),
	(SELECT 'prepared ' || string_agg(statement, ' ') FROM pg_prepared_statements),
	(SELECT 'listens ' || string_agg(c, ' ') FROM pg_listening_channels() c),
	(SELECT 'locks ' || count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' HAVING count(*) > 0),
	(SELECT 'cursors ' || string_agg(name, ' ') FROM pg_cursors WHERE is_holdable),
	(SELECT 'temporary ' || string_agg(relname, ' ') FROM pg_class WHERE relnamespace = pg_my_temp_schema()))`

// TestPooledSessions: the next client of a session finds nothing of ours in it,
// no limit, no setting, no statement and no lock, also after errors.
func TestPooledSessions(t *testing.T) {
	s := pooled(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) SELECT generate_series(1, 20); ALTER TABLE j ADD CHECK (NOT (id = 2 AND status = 'queued'))")
	section := strings.Replace(jobMapping, "failed_at: null}}}", "failed_at: null}}, notify: {channel: c}}", 1) + "session: {app.tenant: t1}\n"
	st := s.open(t, section, map[string]string{"jobs": "default"})
	defer st.Close()
	if _, err := checkUp(t, st); err != nil {
		t.Fatalf("checking: %v", err)
	}
	items := jobItems(t, st)
	l, err := redrive(t, st, items, "reset")
	if err != nil {
		t.Fatalf("redriving: %v", err)
	}
	l.want(t, "done", "failed refused", "done")
	if err := st.Resolve(t.Context(), "jobs", doubts(items, l.ticket), l); err != nil {
		t.Fatalf("resolving: %v", err)
	}
	if got := ids(t, st, "x", "2"); !slices.Equal(got, []string{"2"}) { // an error of the server on the way
		t.Errorf("asking for ids gives %q", got)
	}
	for _, role := range []string{s.reader, s.writer} {
		all := s.sessions(t, role)
		var met []string
		for _, tx := range s.hold(t, role, len(all)) {
			var pid, found string
			must(t, tx.QueryRow(t.Context(), "SELECT pg_backend_pid()::text").Scan(&pid))
			must(t, tx.QueryRow(t.Context(), left).Scan(&found))
			if met = append(met, pid); found != "" {
				t.Errorf("in a session of %s there is left: %s", role, found)
			}
		}
		if slices.Sort(met); len(all) == 0 || !slices.Equal(met, all) {
			t.Errorf("the sessions %q were used, and %q looked at", all, met)
		}
	}
}

func ids(t *testing.T, st backends.Store, asked ...string) (out []string) {
	t.Helper()
	for l, err := range st.Scan(t.Context(), backends.Query{Queue: "jobs", IDs: asked}) {
		if err != nil {
			t.Fatalf("scanning: %v", err)
		}
		out = append(out, l.ID)
	}
	return out
}

// TestPooledRivals: several stores want the same letters at once, through fewer
// sessions than there are stores. Each letter is sent by one.
func TestPooledRivals(t *testing.T) {
	const letters, rivals = 120, 5
	s := pooled(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) SELECT generate_series(1, 120)")
	first := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer first.Close()
	items := jobItems(t, first)
	var all sync.WaitGroup
	var ledgers [rivals]*ledger
	for i := range rivals {
		st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
		defer st.Close()
		ledgers[i] = &ledger{}
		all.Go(func() {
			for at := 0; at < letters; at += 20 {
				part := slices.Concat(items[(at+20*i)%letters:], items[:(at+20*i)%letters])[:20]
				if err := st.Redrive(t.Context(), backends.Order{Queue: "jobs", Attempts: "reset", Items: part}, ledgers[i]); err != nil {
					t.Errorf("redriving: %v", err)
				}
			}
		})
	}
	all.Wait()
	sent := map[int]int{}
	for _, l := range ledgers {
		for n, o := range l.outcomes {
			if o.State == backends.Done {
				sent[n]++
			}
		}
	}
	receipts := s.text(t, "SELECT sum(items)::text FROM receipts")
	queued := s.text(t, "SELECT count(*)::text FROM j WHERE status = 'queued'")
	if len(sent) != letters || receipts != "120" || queued != "120" {
		t.Errorf("%d letters have a sender, %s have a receipt, %s are queued; want %d", len(sent), receipts, queued, letters)
	}
	if n := len(s.sessions(t, s.writer)); n >= rivals {
		t.Errorf("%d stores had %d sessions, so they shared none: PgBouncer needs default_pool_size=2", rivals, n)
	}
}

// TestPooledFull: where other clients have all sessions, a call waits for a time
// and says so, and afterwards the store works as before.
func TestPooledFull(t *testing.T) {
	t.Parallel()
	s := pooled(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
	st := s.open(t, jobMapping+"timeouts: {statement: 1s}\n", map[string]string{"jobs": "default"})
	defer st.Close()
	txs := s.hold(t, s.reader, 2)
	_, err := st.Depth(t.Context(), "jobs")
	if backends.CodeOf(err) != backends.Busy || !strings.Contains(err.Error(), "no session") || !strings.Contains(errHint(err), "pooler") {
		t.Errorf("without a session: %v, hint %q", err, errHint(err))
	}
	for _, tx := range txs {
		must(t, tx.Rollback(t.Context()))
	}
	if _, err := st.Depth(t.Context(), "jobs"); err != nil {
		t.Errorf("with sessions: %v", err)
	}
}

// TestPooledSetting: PgBouncer takes few settings in a connection string, and
// whoever gave another one is told where to look.
func TestPooledSetting(t *testing.T) {
	s := pooled(t)
	s.exec(t, jobDDL)
	with := *s.reads
	with.RawQuery += "&search_path=public"
	s.reads = &with
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	_, err := st.Depth(t.Context(), "jobs")
	if backends.CodeOf(err) != backends.Unreachable || !strings.Contains(errHint(err), "setting of the connection string") {
		t.Errorf("a setting that PgBouncer refuses gives %v, hint %q", err, errHint(err))
	}
}

// TestPooledWakes: executors that prepare a batch ahead and tell workers of each
// take all sessions that there are, and none waits for one that it holds itself.
func TestPooledWakes(t *testing.T) {
	s := pooled(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) SELECT generate_series(1, 60)")
	listener, err := pgx.Connect(t.Context(), s.dsn.String())
	must(t, err)
	defer listener.Close(context.Background())
	_, err = listener.Exec(t.Context(), "LISTEN "+s.name)
	must(t, err)
	section := strings.Replace(jobMapping, "failed_at: null}}}", "failed_at: null}}, notify: {channel: "+s.name+"}}", 1) + "timeouts: {statement: 1s}\n"
	first := s.open(t, section, map[string]string{"jobs": "default"})
	defer first.Close()
	items := jobItems(t, first)
	held := s.hold(t, s.writer, 1)
	defer held[0].Rollback(t.Context())
	var all sync.WaitGroup
	for part := range slices.Chunk(items, 20) {
		st := s.open(t, section, map[string]string{"jobs": "default"})
		defer st.Close()
		all.Go(func() {
			if err := st.Redrive(t.Context(), backends.Order{Queue: "jobs", Attempts: "reset", Items: part}, &hasty{}); err != nil {
				t.Errorf("redriving: %v", err)
			}
		})
	}
	all.Wait()
	_, err = s.admin.Exec(t.Context(), "SELECT pg_notify($1, 'last')", s.name)
	must(t, err)
	for n := 0; ; n++ {
		told, err := listener.WaitForNotification(t.Context())
		must(t, err)
		if told.Payload == "last" {
			if n != 30 {
				t.Errorf("workers were told %d times of 30 batches", n)
			}
			return
		}
	}
}
