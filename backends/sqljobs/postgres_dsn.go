package sqljobs

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// neutral are settings that pgconn would otherwise take from PG* variables or
// from files in the home directory, which could lead to another database.
// Each is given explicitly; what a connection string says comes on top. See
// https://www.postgresql.org/docs/current/libpq-envars.html.
var neutral = map[string]string{
	"port": "5432", "password": "", "passfile": "", "servicefile": "", "application_name": "redrive-mcp",
	"connect_timeout": "10", "sslmode": "prefer", "sslkey": "", "sslcert": "", "sslcertmode": "allow", "sslsni": "1",
	"sslrootcert": "", "sslpassword": "", "sslnegotiation": "postgres", "target_session_attrs": "any",
	"min_protocol_version": "3.0", "max_protocol_version": "3.0", "channel_binding": "prefer", "require_auth": "",
}

// parseDSN reads a connection string, a URL or keywords and values, on its own
// terms. Its errors quote nothing of the string: it may hold a password.
func parseDSN(dsn string) (*pgconn.Config, error) {
	settings, err := dsnSettings(dsn)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"host", "user", "database"} {
		if settings[key] == "" {
			return nil, fmt.Errorf("the connection string names no %s", key)
		}
	}
	if settings["service"] != "" {
		return nil, fmt.Errorf("the connection string refers to a service file")
	}
	for key, value := range neutral {
		if _, ok := settings[key]; !ok {
			settings[key] = value
		}
	}
	undo, err := hideService(settings)
	if err != nil {
		return nil, err
	}
	defer undo()
	cfg, err := pgconn.ParseConfig(keywords(settings))
	if err != nil {
		return nil, fmt.Errorf("the connection string cannot be understood")
	}
	for key := range cfg.RuntimeParams {
		if _, ours := settings[key]; !ours {
			delete(cfg.RuntimeParams, key)
		}
	}
	return cfg, nil
}

// hideService keeps PGSERVICE from having an effect. A setting cannot take it
// back, only another service can, so there is an empty one for the moment.
func hideService(settings map[string]string) (undo func(), err error) {
	if os.Getenv("PGSERVICE") == "" {
		return func() {}, nil
	}
	f, err := os.CreateTemp("", "redrive-no-service-*")
	if err != nil {
		return nil, fmt.Errorf("making an empty service file: %w", err)
	}
	settings["service"], settings["servicefile"] = "none", f.Name()
	_, err = f.WriteString("[none]\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	return func() { os.Remove(f.Name()) }, err
}

func dsnSettings(dsn string) (map[string]string, error) {
	out, err := dsnKeywords(dsn)
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		out, err = dsnURL(dsn)
	}
	if err != nil {
		return nil, err
	}
	if name, ok := out["dbname"]; ok {
		out["database"] = name
		delete(out, "dbname")
	}
	for key := range out {
		if strings.HasPrefix(key, "pool_") || slices.Contains([]string{"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity"}, key) {
			delete(out, key) // settings of another library, which no server knows
		}
	}
	return out, nil
}

func dsnURL(dsn string) (map[string]string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("the connection string is no URL")
	}
	out := map[string]string{"database": strings.TrimPrefix(u.Path, "/"), "host": u.Hostname()}
	if u.Port() != "" {
		out["port"] = u.Port()
	}
	if u.User != nil {
		out["user"] = u.User.Username()
		if password, ok := u.User.Password(); ok {
			out["password"] = password
		}
	}
	for key, values := range u.Query() {
		out[key] = values[len(values)-1]
	}
	return out, nil
}

// dsnKeywords reads key = value pairs; a value may stand in single quotes, and
// a backslash takes the next character as it is.
func dsnKeywords(dsn string) (map[string]string, error) {
	out := map[string]string{}
	for rest := strings.TrimSpace(dsn); rest != ""; rest = strings.TrimSpace(rest) {
		key, after, ok := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || strings.ContainsAny(key, " \t\n") {
			return nil, fmt.Errorf("the connection string is neither a URL nor keywords and values")
		}
		var value string
		if value, rest, ok = dsnValue(strings.TrimLeft(after, " \t\n")); !ok {
			return nil, fmt.Errorf("a quote in the connection string is not closed")
		}
		out[key] = value
	}
	return out, nil
}

func dsnValue(s string) (value, rest string, ok bool) {
	var b strings.Builder
	quoted := strings.HasPrefix(s, "'")
	i := 0
	if quoted {
		i = 1
	}
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case quoted && c == '\'':
			return b.String(), s[i+1:], true
		case !quoted && strings.IndexByte(" \t\n", c) >= 0:
			return b.String(), s[i:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", !quoted
}

func keywords(settings map[string]string) string {
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	var b strings.Builder
	for _, key := range sortedKeys(settings) {
		fmt.Fprintf(&b, "%s='%s' ", key, escape.Replace(settings[key]))
	}
	return b.String()
}
