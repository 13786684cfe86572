package sqljobs

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strconv"
	"sync"
	"time"
)

// sqlite is one database file. It is another program's file: its journal mode
// is left as it is, and a file that does not exist is not made.
type sqlite struct {
	path  string
	times Timeouts

	mu   sync.Mutex
	file *sqliteFile // what the path led to at the last transaction
}

func (e *sqlite) begin(ctx context.Context, p purpose) (tx, error) {
	file, err := e.current()
	if err != nil {
		return nil, err
	}
	conn, err := file.dbs[p].Conn(ctx)
	if err != nil {
		return nil, err
	}
	// A new connection opened whatever stood at the path in that moment.
	if !file.at(e.path) {
		conn.Raw(func(any) error { return driver.ErrBadConn })
		conn.Close()
		return nil, errReplaced()
	}
	// IMMEDIATE takes the write lock before the rows are compared: a deferred
	// transaction could fail with SQLITE_BUSY between the two.
	begin := "BEGIN"
	if p == send {
		begin = "BEGIN IMMEDIATE"
	}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		conn.Close()
		return nil, err
	}
	return &sqliteTx{conn: conn, limit: e.times.statement(), file: file, path: e.path}, nil
}

func (e *sqlite) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	file := e.file
	e.file = nil
	return file.close()
}

func (e *sqlite) dialect() dialect {
	return dialect{
		param: "?",
		now:   "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
		size:  func(c column) string { return "octet_length(" + quote(c.name) + ")" },
		nowIn: sqliteNow,
		// A bare column would be converted by its declared type; an expression
		// has none and arrives as it is stored.
		read: func(c column, _ string) string { return "+" + quote(c.name) },
		cast: func(param string, _ column) string { return param },
	}
}

func sqliteNow(c column, v Value) string {
	switch {
	case v.Unit == "us":
		return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
	case v.Unit == "ms":
		return "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
	case v.Unit == "s" || integerType(c.typ):
		return "unixepoch()"
	case v.Format == "rfc3339":
		return "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
	}
	return "datetime('now')"
}

type sqliteTx struct {
	conn  *sql.Conn
	limit time.Duration
	file  *sqliteFile
	path  string
	over  bool
}

func (t *sqliteTx) home() any { return t.file }

func (t *sqliteTx) query(ctx context.Context, s *stmt, each func([]value) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	rows, err := t.conn.QueryContext(ctx, s.String(), sqliteArgs(s.args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	scanned, into := make([]any, len(names)), make([]any, len(names))
	for i := range scanned {
		into[i] = &scanned[i]
	}
	row := make([]value, len(names))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range scanned {
			row[i] = sqliteValue(v)
		}
		if err := each(row); err != nil {
			return unlessEnough(err)
		}
	}
	return rows.Err()
}

func (t *sqliteTx) exec(ctx context.Context, s *stmt) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	r, err := t.conn.ExecContext(ctx, s.String(), sqliteArgs(s.args)...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// commit refuses to write to a file that the path does not lead to any more:
// nobody would find the jobs there.
func (t *sqliteTx) commit(ctx context.Context) error {
	if !t.file.at(t.path) {
		return errReplaced()
	}
	_, err := t.conn.ExecContext(ctx, "COMMIT")
	if err == nil {
		t.over = true
		t.conn.Close()
	}
	return err
}

func (t *sqliteTx) rollback() {
	if t.over {
		return
	}
	t.over = true
	// A connection whose rollback fails must not be used again.
	if _, err := t.conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	t.conn.Close()
}

func sqliteValue(v any) value {
	switch v := v.(type) {
	case int64:
		return value{number, strconv.AppendInt(nil, v, 10)}
	case float64:
		return value{real, strconv.AppendFloat(nil, v, 'g', -1, 64)}
	case string:
		return value{text, []byte(v)}
	case []byte:
		return value{blob, v}
	}
	return value{}
}

func sqliteArgs(vs []value) []any {
	out := make([]any, len(vs))
	for i, v := range vs {
		out[i] = sqliteArg(v)
	}
	return out
}

func sqliteArg(v value) any {
	switch v.kind {
	case number:
		if n, err := strconv.ParseInt(string(v.bytes), 10, 64); err == nil {
			return n
		}
	case real:
		if f, err := strconv.ParseFloat(string(v.bytes), 64); err == nil {
			return f
		}
	case blob:
		return v.bytes
	case null:
		return nil
	}
	return string(v.bytes)
}
