package sqljobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// target names the database system by the identifier that initdb gave it, which
// no spelling of a connection, no pooler and no replica changes. It asks the role
// that writes. While its server is away the one that reads answers, from the same
// system, as the audit of the writer makes sure before anything is sent.
func (e *postgres) target(ctx context.Context, m *mapping) (backends.Target, error) {
	target := backends.Target{Selector: m.selector, Split: m.jobs.Queue}
	var err error
	for _, p := range []purpose{send, look} {
		role := e.roles[p]
		if role == nil {
			continue
		}
		if target.Via == "" {
			target.Via = fmt.Sprintf("%s:%d %s", role.cfg.Host, role.cfg.Port, role.cfg.User)
		}
		if err = e.locate(ctx, p, m, &target); err == nil || !e.away(err) {
			break
		}
	}
	return target, err
}

func (e *postgres) away(err error) bool {
	if ours, ok := errors.AsType[*backends.Error](err); ok {
		return ours.Code == backends.Busy // the pooler had no session
	}
	return e.fault(err).code == backends.Unreachable
}

// locate finds the table, and the relations that hold its rows: a view has those
// that it selects from, a table its partitions and its children, and so on. What
// a function of a view reads, and what a foreign table leads to, is not seen.
func (e *postgres) locate(ctx context.Context, p purpose, m *mapping, target *backends.Target) error {
	t, err := e.begin(ctx, p)
	if err != nil {
		return err
	}
	defer t.rollback()
	s := e.dialect().stmt(`WITH RECURSIVE held AS (
			SELECT c.oid, c.relkind, c.relhassubclass, true AS itself FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = `)
	s.add(s.bind(textValue(m.cat.schema)), " AND c.relname = ", s.bind(textValue(m.cat.name)))
	s.add(` UNION
			SELECT c.oid, c.relkind, c.relhassubclass, false FROM held h CROSS JOIN LATERAL (
				SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits i WHERE h.relhassubclass AND i.inhparent = h.oid
				UNION
				SELECT d.refobjid FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d ON d.objid = w.oid
				WHERE h.relkind = 'v' AND w.ev_class = h.oid AND w.ev_type = '1' AND d.refobjid <> h.oid
					AND d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass) x
			JOIN pg_catalog.pg_class c ON c.oid = x.oid)
		SELECT x.system_identifier, current_database(), n.nspname, c.relname
		FROM pg_catalog.pg_control_system() x LEFT JOIN held h ON NOT h.itself AND h.relkind IN ('r', 'p', 'v', 'f')
		LEFT JOIN pg_catalog.pg_class c ON c.oid = h.oid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		ORDER BY n.nspname, c.relname`)
	err = t.query(ctx, s, func(row []value) error {
		target.Store = "postgres:" + row[0].String()
		database := row[1].String() + "/"
		target.Place = database + m.cat.schema + "." + m.cat.name
		if row[2].kind != null {
			target.Holds = append(target.Holds, database+row[2].String()+"."+row[3].String())
		}
		return nil
	})
	return e.unnamed(t, err)
}

// unnamed explains why the database system cannot be told. Its address would be
// another one through a pooler or a socket, and one letter would be taken for two.
func (e *postgres) unnamed(t tx, err error) error {
	pg, ok := t.(*postgresTx)
	if err == nil || !ok || e.fault(err).code != backends.NoAccess {
		return err
	}
	return backends.Errorf(backends.NoAccess, err, "the role %s may not ask which database system this is", quote(pg.role)).
		WithHint("GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO %s;", quote(pg.role))
}

// lag is how long ago a replica was surely complete. Where all that it received
// is replayed, and it is still receiving, that is now; otherwise it is the commit
// that was replayed last. Some servers that call themselves replicas cannot tell.
func (e *postgres) lag(ctx context.Context, t tx) (time.Duration, error) {
	s := e.dialect().stmt(`SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN 0
		WHEN EXISTS (SELECT FROM pg_catalog.pg_stat_wal_receiver) AND pg_catalog.pg_last_wal_replay_lsn() >= pg_catalog.pg_last_wal_receive_lsn() THEN 0
		ELSE floor(extract(epoch FROM clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp()) * 1000)::bigint END`)
	lag := unknownLag
	err := t.query(ctx, s, func(row []value) error {
		if ms, err := strconv.ParseInt(row[0].String(), 10, 64); err == nil {
			lag = time.Duration(max(ms, 0)) * time.Millisecond
		}
		return nil
	})
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "0A000" {
		return unknownLag, nil
	}
	return lag, err
}

const unknownLag = time.Duration(-1)
