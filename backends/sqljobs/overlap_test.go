package sqljobs_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// targetOf is where the queue of a store leads.
func targetOf(t *testing.T, st backends.Store) backends.Target {
	t.Helper()
	at, err := st.Target(t.Context(), "jobs")
	must(t, err)
	return at
}

// overlaps checks which of some targets have letters in common. Of each pair it
// is told by "one two"; all others have none.
func overlaps(t *testing.T, all map[string]backends.Target, pairs ...string) {
	t.Helper()
	for _, one := range slices.Sorted(maps.Keys(all)) {
		for _, two := range slices.Sorted(maps.Keys(all)) {
			want := one == two || slices.Contains(pairs, one+" "+two) || slices.Contains(pairs, two+" "+one)
			if got := all[one].Overlaps(all[two]); got != want {
				t.Errorf("%s and %s have letters in common: %v, want %v", one, two, got, want)
			}
		}
	}
}

// TestOverlaps: whatever leads to the same rows is known to, by the names of
// tables, views, partitions and children.
func TestOverlaps(t *testing.T) {
	s := pooled(t)
	second := s.name + "_2"
	s.exec(t, strings.NewReplacer("SCHEMA_1", s.name, "SCHEMA_2", second).Replace(jobDDL+`CREATE TABLE other (LIKE j INCLUDING ALL); CREATE TABLE "J" (LIKE j INCLUDING ALL); CREATE SCHEMA SCHEMA_2; CREATE TABLE SCHEMA_2.j (LIKE j INCLUDING ALL);
		CREATE VIEW v AS SELECT * FROM j; CREATE VIEW renamed AS SELECT id + 1000 AS id, q, status, payload, attempts, max_attempts, key, failed_at FROM v;
		CREATE VIEW joined AS SELECT o.* FROM other o WHERE EXISTS (SELECT FROM j WHERE j.id = o.id);
		CREATE TABLE child () INHERITS (j); ALTER TABLE child ADD PRIMARY KEY (id);
		CREATE TABLE parts (LIKE j INCLUDING DEFAULTS, PRIMARY KEY (id, q)) PARTITION BY LIST (q);
		CREATE TABLE part_a PARTITION OF parts FOR VALUES IN ('default') PARTITION BY LIST (id); CREATE TABLE part_a1 PARTITION OF part_a FOR VALUES IN (1);
		CREATE TABLE part_b PARTITION OF parts FOR VALUES IN ('mail'); CREATE VIEW of_a1 AS SELECT * FROM part_a1;
		GRANT USAGE ON SCHEMA SCHEMA_2 TO READER, WRITER; GRANT SELECT ON ALL TABLES IN SCHEMA SCHEMA_2 TO READER, WRITER;
		GRANT SELECT ON ALL TABLES IN SCHEMA SCHEMA_1 TO READER, WRITER`))
	t.Cleanup(func() { s.exec(t, "DROP SCHEMA "+second+" CASCADE") })
	all := map[string]backends.Target{}
	for _, name := range []string{"SCHEMA.j", "SCHEMA.J", second + ".j", "SCHEMA.other", "SCHEMA.v", "SCHEMA.renamed", "SCHEMA.joined", "SCHEMA.child", "SCHEMA.parts", "SCHEMA.part_a", "SCHEMA.part_a1", "SCHEMA.part_b", "SCHEMA.of_a1"} {
		section := strings.Replace(jobMapping, "table: SCHEMA.j", "table: "+name, 1)
		if strings.Contains(name, "part") {
			section = strings.Replace(section, "id: id", "id: [id, q]", 1)
		}
		st := s.open(t, section, map[string]string{"jobs": "default"})
		defer st.Close()
		all[strings.TrimPrefix(name, "SCHEMA.")] = targetOf(t, st)
	}
	overlaps(t, all, "j v", "j renamed", "v renamed", "j child", "child v", "child renamed",
		"joined other", "joined j", "joined v", "joined renamed", "joined child",
		"parts part_a", "parts part_a1", "parts part_b", "parts of_a1", "part_a part_a1", "part_a of_a1", "part_a1 of_a1")

	// A partition that comes later is seen by stores that are open.
	st := s.open(t, strings.NewReplacer("table: SCHEMA.j", "table: SCHEMA.parts", "id: id", "id: [id, q]").Replace(jobMapping), map[string]string{"jobs": "default"})
	defer st.Close()
	before := targetOf(t, st)
	s.exec(t, "CREATE TABLE part_c PARTITION OF parts FOR VALUES IN ('done'); GRANT SELECT ON part_c TO READER")
	late := s.open(t, strings.NewReplacer("table: SCHEMA.j", "table: SCHEMA.part_c", "id: id", "id: [id, q]").Replace(jobMapping), map[string]string{"jobs": "default"})
	defer late.Close()
	if at := targetOf(t, late); before.Overlaps(at) || !targetOf(t, st).Overlaps(at) || !at.Overlaps(targetOf(t, st)) {
		t.Errorf("a partition that came later is %q, its parent holds %q", at.Place, targetOf(t, st).Holds)
	}
}

// TestSQLiteOverlaps: the same in a file, whatever way leads to it.
func TestSQLiteOverlaps(t *testing.T) {
	f := newFile(t, sqliteDDL+`CREATE TABLE other AS SELECT * FROM jobs; CREATE UNIQUE INDEX o ON other (id);
		CREATE VIEW v AS SELECT * FROM jobs; CREATE VIEW "a view" AS SELECT id + 1000 AS id, queue, job_type, payload, status, attempts, max_attempts, last_error, priority, created_at, tried_at, failed_at, locked_by, run_at FROM v WHERE queue <> 'x';
		CREATE VIEW ofIndex AS SELECT * FROM jobs WHERE status = 'failed' AND failed_at IS NOT NULL ORDER BY queue;
		CREATE VIEW joined AS SELECT o.* FROM other o WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.id = o.id)`)
	link := filepath.Join(t.TempDir(), "link.db")
	must(t, os.Symlink(f.path, link))
	all := map[string]backends.Target{}
	for name, section := range map[string]string{
		"jobs": "", "other": "table: other", "v": "table: v", "view": "table: a view", "indexed": "table: OFINDEX", "joined": "table: joined", "link": "link",
	} {
		mapping := sqliteMapping
		switch {
		case section == "link":
			mapping = strings.Replace(mapping, "file: jobs.db", "file: "+link, 1)
		case section != "":
			mapping = strings.Replace(mapping, "table: jobs", section, 1)
		}
		st := f.open(t, mapping, map[string]string{"jobs": "default"})
		defer st.Close()
		all[name] = targetOf(t, st)
	}
	overlaps(t, all, "jobs v", "jobs view", "jobs indexed", "jobs joined", "jobs link", "v view", "v indexed", "v joined", "v link",
		"view indexed", "view joined", "view link", "indexed joined", "indexed link", "joined link", "joined other")
}

// socket is a socket of this computer that leads to the server.
func socket(t *testing.T, server string) (folder string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "pg") // a socket's path has at most about a hundred bytes
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	l, err := net.Listen("unix", filepath.Join(folder, ".s.PGSQL.5432"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				if conn, err := net.Dial("tcp", server); err == nil {
					defer conn.Close()
					go io.Copy(conn, client)
					io.Copy(client, conn)
				}
			}()
		}
	}()
	return folder
}

// TestOneDatabase: one table is one place by every way to it, and the place says
// neither the way nor the role. A role that cannot ask which database system it
// is in gets no place at all: by the address one letter would be two.
func TestOneDatabase(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
	direct := s.as(s.reader)
	u, err := url.Parse(direct)
	must(t, err)
	local := *u
	local.Host, local.RawQuery = "", "host="+url.QueryEscape(socket(t, u.Host))
	through := *server(t, "REDRIVE_TEST_PGBOUNCER")
	through.User = u.User
	copied := *server(t, "REDRIVE_TEST_PG_REPLICA")
	copied.User = u.User
	s.replayed(t)
	var first backends.Target
	open := func(dsn string) backends.Store {
		c := s.config(t, jobMapping, map[string]string{"jobs": "default"})
		dropWriter(c)
		c.Env = func(string) (string, bool) { return dsn, true }
		return mustOpen(t, c)
	}
	for i, dsn := range []string{direct, local.String(), through.String(), copied.String(), s.as(s.writer)} {
		st := open(dsn)
		defer st.Close()
		at := targetOf(t, st)
		if i == 0 {
			first = at
		}
		if at.Physical() != first.Physical() || !at.Overlaps(first) || strings.Contains(at.Physical(), u.Port()) {
			t.Errorf("one table is %q and %q", first, at)
		}
	}
	if _, port, err := net.SplitHostPort(first.Via[:strings.Index(first.Via, " ")]); err != nil || port != u.Port() {
		t.Errorf("it is reached via %q", first.Via)
	}

	// In a database of its own, since the right to the function is the database's.
	s.database(t, "", func(name string) {
		alone, err := pgxTo(t, s.dsn, name)
		must(t, err)
		defer alone.Close(context.Background())
		_, err = alone.Exec(t.Context(), s.fill("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC; CREATE SCHEMA SCHEMA; GRANT USAGE ON SCHEMA "+s.name+" TO READER; SET search_path = SCHEMA, pg_catalog;"+jobDDL))
		must(t, err)
		elsewhere := *u
		elsewhere.Path = "/" + name
		st := open(elsewhere.String())
		defer st.Close()
		_, err = st.Target(t.Context(), "jobs")
		if want := fmt.Sprintf(`GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO "%s";`, s.reader); backends.CodeOf(err) != backends.NoAccess || errHint(err) != want {
			t.Errorf("without the right to ask for the system: %v, hint %q", err, errHint(err))
		}
		_, err = alone.Exec(t.Context(), errHint(err))
		must(t, err)
		if at := targetOf(t, st); at.Overlaps(first) {
			t.Errorf("two databases are one place, %q", at)
		}
	})
}
