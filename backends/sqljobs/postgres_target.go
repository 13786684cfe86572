package sqljobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// target asks the role that writes. While its server is away the one that reads
// answers: it is in the same database, or nothing is sent.
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
	at := strings.SplitN(t.(*postgresTx).at, "/", 3)
	target.Store = "postgres:" + at[0] + "/" + at[1]
	target.Place = at[2] + "/" + m.cat.schema + "." + m.cat.name
	target.Holds = nil
	// Most tables hold nobody's rows but their own, and to ask for all of that
	// takes the server longer than all the rest.
	holds := false
	err = t.query(ctx, m.itself("1").add(" AND (c.relkind = 'v' OR c.relhassubclass)"), func([]value) error {
		holds = true
		return nil
	})
	if err != nil || !holds {
		return err
	}
	return t.query(ctx, m.held(), func(row []value) error {
		target.Holds = append(target.Holds, at[2]+"/"+row[0].String()+"."+row[1].String())
		return nil
	})
}

// itself selects from the table's row in the catalog.
func (m *mapping) itself(columns string) *stmt {
	s := m.d.stmt("SELECT ").add(columns, " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ")
	return s.add(s.bind(textValue(m.cat.schema)), " AND c.relname = ", s.bind(textValue(m.cat.name)))
}

// held names the relations under a view or a table.
func (m *mapping) held() *stmt {
	itself := m.itself("c.oid, c.relkind, c.relhassubclass, true AS itself")
	s := m.d.stmt("WITH RECURSIVE held AS (").add(itself.String())
	s.args = itself.args
	return s.add(` UNION
			SELECT c.oid, c.relkind, c.relhassubclass, false FROM held h CROSS JOIN LATERAL (
				SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits i WHERE h.relhassubclass AND i.inhparent = h.oid
				UNION
				SELECT d.refobjid FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d ON d.objid = w.oid
				WHERE h.relkind = 'v' AND w.ev_class = h.oid AND w.ev_type = '1' AND d.refobjid <> h.oid
					AND d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass) x
			JOIN pg_catalog.pg_class c ON c.oid = x.oid)
		SELECT n.nspname, c.relname
		FROM held h JOIN pg_catalog.pg_class c ON c.oid = h.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE NOT h.itself AND h.relkind IN ('r', 'p', 'v', 'f') ORDER BY n.nspname, c.relname`)
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
