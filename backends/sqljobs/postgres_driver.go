package sqljobs

import (
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// Postgres is the driver for job tables in PostgreSQL.
func Postgres() backends.Driver {
	return backends.Driver{
		Kind:       "postgres",
		NewBackend: func() any { return new(PostgresBackend) },
		NewSource:  func() any { return new(Source) },
		Check:      checkPostgres,
		Open:       openPostgres,
	}
}

func checkPostgres(c backends.Config) error {
	b, err := section[PostgresBackend](c)
	if err != nil {
		return err
	}
	if err := b.checkEnv(); err != nil {
		return err
	}
	for key, value := range b.Session {
		if !validIdent(key) || !validSetting(value) {
			return faultAt("session."+key, "write app.tenant: t1", "%q is no setting of a session", key)
		}
	}
	if b.Receipts != nil && !b.Receipts.none() {
		if err := checkTable("receipts", b.Receipts, true); err != nil {
			return err
		}
	}
	if err := b.Jobs.check(true); err != nil {
		return err
	}
	_, err = selectors(c, &b.Jobs)
	return err
}

// checkEnv wants names of environment variables. A connection string in their
// place would put a password into the policy, and is not repeated.
func (b *PostgresBackend) checkEnv() error {
	names := map[string]string{"dsn_env": b.DSNEnv, "read_env": b.ReadEnv, "write_env": b.WriteEnv}
	for _, key := range sortedKeys(names) {
		if names[key] != "" && !envName(names[key]) {
			return faultAt(key, "export APP_DSN=… and write the name APP_DSN here; change the password if one stood here", "this is no name of an environment variable")
		}
	}
	switch {
	case b.DSNEnv == "" && b.ReadEnv == "" && b.WriteEnv != "":
		return faultAt("read_env", "name the variable of a role that only reads, or use dsn_env where one role does both", "write_env stands alone, and looking never uses the role that writes")
	case b.DSNEnv == "" && b.ReadEnv == "":
		return faultAt("dsn_env", "name the variable that holds the connection string, or two with read_env and write_env", "no environment variable is named")
	case b.DSNEnv != "" && (b.ReadEnv != "" || b.WriteEnv != ""):
		return faultAt("dsn_env", "keep dsn_env, or read_env and write_env", "dsn_env excludes read_env and write_env")
	}
	return nil
}

func envName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func validSetting(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}

func openPostgres(c backends.Config) (backends.Store, error) {
	if err := checkPostgres(c); err != nil {
		return nil, err
	}
	b, err := section[PostgresBackend](c)
	if err != nil {
		return nil, err
	}
	sources, err := selectors(c, &b.Jobs)
	if err != nil {
		return nil, err
	}
	e, err := b.engine(c)
	if err != nil {
		return nil, err
	}
	s := newStore(c.Name, e, &b.Jobs, sources)
	if !b.Receipts.none() {
		s.receipts = b.Receipts
	}
	s.overlaps, s.streams = true, true
	return s, nil
}

// engine makes the roles. Looking needs the one that reads; what is wrong with
// the one that writes is said when something is to be written.
func (b *PostgresBackend) engine(c backends.Config) (*postgres, error) {
	readEnv, writeEnv := b.ReadEnv, b.WriteEnv
	if b.DSNEnv != "" {
		readEnv, writeEnv = b.DSNEnv, b.DSNEnv
	}
	read, err := lookupDSN(c, readEnv)
	if err != nil {
		return nil, err
	}
	var write *pgconn.Config
	var mute error = backends.Errorf(backends.NoAccess, nil, "the policy names no role that may write").
		WithHint("add write_env to the backend")
	if writeEnv != "" {
		write, mute = lookupDSN(c, writeEnv)
	}
	e, err := newPostgres(read, write, b.Timeouts, b.Session)
	if err != nil {
		return nil, err
	}
	e.mute = mute
	return e, nil
}

// lookupDSN reads the connection string that a variable holds.
func lookupDSN(c backends.Config, env string) (*pgconn.Config, error) {
	dsn, ok := c.Env(env)
	if !ok || dsn == "" {
		return nil, backends.Errorf(backends.BadMapping, nil, "the environment variable %s is not set", env).
			WithHint("set %s where redrive-mcp runs and start it anew", env)
	}
	cfg, err := parseDSN(dsn)
	if err != nil {
		return nil, backends.Errorf(backends.BadMapping, nil, "%s: %s", env, err)
	}
	return cfg, nil
}
