package sqljobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// postgres is one database through one or two roles.
//
// Every statement is unnamed and prepared anew, and every setting is local to
// its transaction: nothing is left in a session, so that PgBouncer may give the
// session to somebody else at the end of each transaction.
type postgres struct {
	roles [2]*pool // by purpose; the role that writes is nil if there is none
	mute  error    // why there is none
	setup string   // the settings of each transaction
	limit time.Duration
}

func newPostgres(read, write *pgconn.Config, times Timeouts, session map[string]string) (e *postgres, err error) {
	e = &postgres{limit: times.statement() + networkGrace, setup: settings(times, session)}
	if e.roles[look], err = newPool(read); err == nil && write != nil {
		e.roles[send], err = newPool(write)
	}
	return e, err
}

// networkGrace is how much longer than the server's own limit a statement may
// take before the connection counts as lost.
const networkGrace = 5 * time.Second

// settings spells the settings of a transaction. Beside the limits they fix how
// the server prints values: a Mark and a Digest must not depend on a role.
func settings(times Timeouts, session map[string]string) string {
	all := map[string]string{
		"statement_timeout":                   fmt.Sprint(times.statement().Milliseconds()),
		"lock_timeout":                        fmt.Sprint(times.lock().Milliseconds()),
		"idle_in_transaction_session_timeout": "60000",
		"timezone":                            "UTC",
		"datestyle":                           "ISO, YMD",
		"intervalstyle":                       "postgres",
		"extra_float_digits":                  "1",
		"bytea_output":                        "hex",
		"client_encoding":                     "UTF8",
		"xmloption":                           "content",
	}
	for key, value := range session {
		if _, ours := all[key]; !ours {
			all[key] = value
		}
	}
	calls := []string{}
	for _, key := range sortedKeys(all) {
		calls = append(calls, "set_config("+literal(key)+", "+literal(all[key])+", true)")
	}
	return "SELECT set_config('standard_conforming_strings', 'on', true); SELECT " + strings.Join(calls, ", ") + "; " + where
}

// where is the statement that asks a transaction what it works on: the identifier
// that initdb gave to the database system, which no spelling of a connection, no
// pooler and no replica changes, and the database's number and name. Each
// transaction is asked, for behind one connection there may be another server, or
// another database of that name, from one to the next.
const where = "SELECT x.system_identifier || '/' || d.oid || '/' || d.datname FROM pg_catalog.pg_control_system() x, pg_catalog.pg_database d WHERE d.datname = current_database()"

func (e *postgres) begin(ctx context.Context, p purpose) (tx, error) {
	role := e.roles[p]
	if role == nil {
		return nil, e.mute
	}
	begin := "BEGIN ISOLATION LEVEL READ COMMITTED; "
	if p == look {
		begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; "
	}
	conn, at, err := role.begin(ctx, begin+e.setup, e.limit)
	if err != nil {
		return nil, nameless(role.cfg.User, err)
	}
	return &postgresTx{conn: conn.Value().PgConn, loan: conn, limit: e.limit, at: at}, nil
}

// nameless explains why a role cannot ask where it is. The server's address would
// be another one through a pooler or a socket, and one letter be taken for two.
func nameless(role string, err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42501" || !strings.Contains(pg.Message, "pg_control_system") {
		return err
	}
	return backends.Errorf(backends.NoAccess, err, "the role %s may not ask which database system this is", quote(role)).
		WithHint("GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO %s;", quote(role))
}

func (e *postgres) home() (any, error) { return nil, nil }

func (t *postgresTx) home() any { return t.at }

func (e *postgres) moved(p purpose) error {
	if p == send {
		return backends.Errorf(backends.BadMapping, nil, "the connection for redrives leads to another database than the one for looking").
			WithHint("read_env and write_env must lead to one database; if it was replaced, look at the queue again")
	}
	return backends.Errorf(backends.Changed, nil, "the connection leads to another database than before").
		WithHint("look at the queue again: its letters are those of this database now")
}

func (e *postgres) close() error {
	for _, role := range e.roles {
		if role != nil {
			role.Close()
		}
	}
	return nil
}

func (e *postgres) dialect() dialect {
	return dialect{
		param:    "$",
		skip:     " FOR UPDATE SKIP LOCKED",
		wait:     " FOR UPDATE",
		now:      "clock_timestamp()",
		deferred: "SET CONSTRAINTS ALL IMMEDIATE",
		size:     postgresSize,
		nowIn:    postgresNow,
		read:     postgresRead,
		cast:     func(param string, c column) string { return "CAST(" + param + " AS " + c.typ + ")" },
		list:     postgresList,
	}
}

func postgresSize(c column) string {
	if c.blob {
		return "octet_length(" + quote(c.name) + ")"
	}
	return "octet_length(" + quote(c.name) + "::text)"
}

func postgresNow(c column, v Value) string {
	switch {
	case c.typ == "timestamp without time zone":
		return "timezone(" + literal(orText(v.TZ, "UTC")) + ", now())"
	case integerType(c.typ):
		perSecond := int64(time.Second / units[orText(v.Unit, "s")])
		return fmt.Sprintf("floor(extract(epoch FROM now()) * %d)::bigint", perSecond)
	}
	return "now()"
}

func postgresRead(c column, pick string) string {
	name := quote(c.name)
	switch pick {
	case "first":
		return name + "[array_lower(" + name + ", 1)]"
	case "last":
		return name + "[array_upper(" + name + ", 1)]"
	}
	return name
}

// postgresList spells an array (PostgreSQL §8.15.2) whose elements are all quoted.
func postgresList(ids [][]value) value {
	out := []byte{'{'}
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		for _, c := range []byte(id[0].String()) {
			if c == '"' || c == '\\' {
				out = append(out, '\\')
			}
			out = append(out, c)
		}
		out = append(out, '"')
	}
	return value{text, append(out, '}')}
}

// postgresTx is a transaction on a connection that goes back to its role's
// pool at the end.
type postgresTx struct {
	conn  *pgconn.PgConn
	loan  *pooled
	limit time.Duration
	at    string // the database system and the database
	over  bool
}

func (t *postgresTx) run(ctx context.Context, s *stmt) *pgconn.ResultReader {
	params, formats := make([][]byte, len(s.args)), make([]int16, len(s.args))
	for i, v := range s.args {
		params[i] = v.bytes
		if v.kind == blob {
			formats[i] = pgconnBinary
		} else if v.kind != null && v.bytes == nil {
			params[i] = []byte{}
		}
	}
	var results []int16
	for _, binary := range s.blobs {
		format := int16(0)
		if binary {
			format = pgconnBinary
		}
		results = append(results, format)
	}
	return t.conn.ExecParams(ctx, s.String(), params, nil, formats, results)
}

// pgconnBinary is the format code of binary values in the wire protocol.
const pgconnBinary = 1

func (t *postgresTx) query(ctx context.Context, s *stmt, each func([]value) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	rows := t.run(ctx, s)
	var row []value
	for rows.NextRow() {
		raw := rows.Values()
		if row == nil {
			row = make([]value, len(raw))
		}
		for i, b := range raw {
			row[i] = postgresValue(b, i < len(s.blobs) && s.blobs[i])
		}
		if err := each(row); err != nil {
			rows.Close()
			return unlessEnough(err)
		}
	}
	_, err := rows.Close()
	return err
}

func postgresValue(raw []byte, binary bool) value {
	switch {
	case raw == nil:
		return value{}
	case binary:
		return value{blob, raw}
	}
	return value{text, raw}
}

func (t *postgresTx) exec(ctx context.Context, s *stmt) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	result := t.run(ctx, s).Read()
	return result.CommandTag.RowsAffected(), result.Err
}

// errRolledBack is a commit that the server answered with a rollback.
var errRolledBack = errors.New("the transaction had failed and was rolled back")

func (t *postgresTx) commit(ctx context.Context) error {
	results, err := t.conn.Exec(ctx, "COMMIT").ReadAll()
	if err == nil && (len(results) != 1 || results[0].CommandTag.String() != "COMMIT") {
		err = errRolledBack
	}
	t.end()
	return err
}

func (t *postgresTx) rollback() {
	if t.over {
		return
	}
	if !t.conn.IsClosed() && t.conn.TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), networkGrace)
		defer cancel()
		// A connection whose rollback fails is closed when it is given back.
		_, _ = t.conn.Exec(ctx, "ROLLBACK").ReadAll()
	}
	t.end()
}

func (t *postgresTx) end() {
	if !t.over {
		t.over = true
		give(t.loan)
	}
}

// wake notifies listeners in a transaction of its own.
func (e *postgres) wake(ctx context.Context, n *Notify, queue string) error {
	t, err := e.begin(ctx, send)
	if err != nil {
		return err
	}
	defer t.rollback()
	s := e.dialect().stmt("SELECT pg_notify(")
	s.add(s.bind(textValue(n.Channel)), ", ", s.bind(textValue(strings.ReplaceAll(n.Payload, "{queue}", queue))), ")")
	if err := t.query(ctx, s, func([]value) error { return nil }); err != nil {
		return err
	}
	return t.commit(ctx)
}
