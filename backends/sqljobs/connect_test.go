package sqljobs_test

import (
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
)

// TestAmbientSettings: no PG* variable and no file of libpq has an effect.
func TestAmbientSettings(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL+"INSERT INTO j (id) VALUES (1)")
	for key, value := range map[string]string{
		"PGHOST": "nowhere.invalid", "PGPORT": "1", "PGDATABASE": "nodb", "PGUSER": "nobody", "PGPASSWORD": "wrong", "PGPASSFILE": "/nonexistent",
		"PGSERVICE": "elsewhere", "PGSERVICEFILE": "/nonexistent", "PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/nonexistent", "PGSSLCERT": "/nonexistent",
		"PGSSLKEY": "/nonexistent", "PGSSLCERTMODE": "require", "PGSSLNEGOTIATION": "direct", "PGOPTIONS": "-c default_transaction_read_only=on", "PGTZ": "Asia/Tokyo",
		"PGCONNECT_TIMEOUT": "nonsense", "PGTARGETSESSIONATTRS": "standby", "PGAPPNAME": "other", "PGCHANNELBINDING": "require", "PGREQUIREAUTH": "none",
		"PGMINPROTOCOLVERSION": "3.2", "PGMAXPROTOCOLVERSION": "3.2",
	} {
		t.Setenv(key, value)
	}
	st := s.open(t, jobMapping, map[string]string{"jobs": "default"})
	defer st.Close()
	if l, err := redrive(t, st, jobItems(t, st), "reset"); err != nil || l.outcomes[0].State != backends.Done {
		t.Errorf("with a foreign environment: %v, %v", err, l.outcomes)
	}
	if got := s.text(t, "SELECT string_agg(DISTINCT application_name, ' ') FROM pg_stat_activity WHERE usename IN ('READER', 'WRITER')"); got != "redrive-mcp" {
		t.Errorf("the server sees the application %q", got)
	}
}

// TestDSN: a connection string must say where it leads, in either spelling,
// and errors repeat nothing of it.
func TestDSN(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL)
	u, err := url.Parse(s.as(s.reader))
	if err != nil {
		t.Fatal(err)
	}
	words := "host=" + u.Hostname() + " port=" + u.Port() + " user=" + s.reader + ` password = 'p\w' dbname='` + strings.TrimPrefix(u.Path, "/") + "'"
	open := func(dsn string) (backends.Store, error) {
		c := s.config(t, jobMapping, map[string]string{"jobs": "default"})
		c.Env = func(string) (string, bool) { return dsn, dsn != "" }
		return sqljobs.Postgres().Open(c)
	}
	for _, dsn := range []string{"", "nonsense", "hunter2", "postgres://u:hunter2@h", "postgres:///db?host=hunter2", "host=h user=hunter2", "host='hunter2", "postgres://u:hunt er2@h/db",
		"service=hunter2 host=h user=u dbname=d"} {
		st, err := open(dsn)
		if err == nil {
			st.Close()
			t.Errorf("%q is accepted", dsn)
			continue
		}
		if backends.CodeOf(err) != backends.BadMapping || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q gives %v (%s)", dsn, err, backends.CodeOf(err))
		}
	}
	var targets []backends.Target
	for _, dsn := range []string{s.as(s.reader) + "&pool_max_conns=3", words} {
		st, err := open(dsn)
		if err != nil {
			t.Fatalf("a good connection string is refused: %v", err)
		}
		defer st.Close()
		target, err := st.Target(t.Context(), "jobs")
		if err != nil {
			t.Fatalf("asking for the target: %v", err)
		}
		targets = append(targets, target)
	}
	if !reflect.DeepEqual(targets[0], targets[1]) || !strings.HasSuffix(targets[0].Place, s.name+".j") || targets[0].Selector != "default" {
		t.Errorf("two spellings lead to %q and %q", targets[0], targets[1])
	}
}

// TestUnreachable: connection faults are coded, in our words.
func TestUnreachable(t *testing.T) {
	s := newSchema(t)
	s.exec(t, jobDDL)
	for _, c := range []struct {
		change func(*url.URL)
		code   backends.Code
	}{
		{func(u *url.URL) { u.Host = "127.0.0.1:1" }, backends.Unreachable},
		{func(u *url.URL) { u.Path = "/no_such_db" }, backends.Unreachable},
		{func(u *url.URL) { u.User = url.UserPassword("no_such_role", "pw") }, backends.NoAccess},
	} {
		u, err := url.Parse(s.as(s.reader))
		if err != nil {
			t.Fatal(err)
		}
		c.change(u)
		cfg := s.config(t, jobMapping, map[string]string{"jobs": "default"})
		cfg.Env = func(string) (string, bool) { return u.String(), true }
		st, err := sqljobs.Postgres().Open(cfg)
		if err != nil {
			t.Fatalf("opening: %v", err)
		}
		defer st.Close()
		_, err = st.Depth(t.Context(), "jobs")
		if backends.CodeOf(err) != c.code || strings.Contains(err.Error(), "no_such") {
			t.Errorf("%s gives %v (%s), want %s", u.Redacted(), err, backends.CodeOf(err), c.code)
		}
	}
}

// TestSQLiteFile: every spelling of a path is one target, and a file that does
// not exist is not made.
func TestSQLiteFile(t *testing.T) {
	f := newFile(t, sqliteDDL)
	folder := filepath.Dir(f.path)
	link := filepath.Join(t.TempDir(), "a link?.db")
	if err := os.Symlink(f.path, link); err != nil {
		t.Fatal(err)
	}
	var letters []string
	for _, path := range []string{"jobs.db", f.path, filepath.Join(folder, ".", "x", "..", "jobs.db"), link} {
		st := f.open(t, strings.Replace(sqliteMapping, "jobs.db", path, 1), map[string]string{"jobs": "default"})
		defer st.Close()
		target, err := st.Target(t.Context(), "jobs")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		letters = append(letters, target.Letters())
	}
	for _, l := range letters {
		if l != letters[0] {
			t.Errorf("one file is %q and %q", letters[0], l)
		}
	}
	st := f.open(t, strings.Replace(sqliteMapping, "jobs.db", "missing.db", 1), map[string]string{"jobs": "default"})
	defer st.Close()
	if _, err := st.Depth(t.Context(), "jobs"); backends.CodeOf(err) != backends.Unreachable {
		t.Errorf("a missing file gives %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "missing.db")); err == nil {
		t.Errorf("looking at a missing file made it")
	}
}
