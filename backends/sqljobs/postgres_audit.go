package sqljobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// audit checks the privileges of a role by name, before a statement fails for
// want of one, and looks for what surprises an operator.
func (e *postgres) audit(ctx context.Context, t tx, p purpose, s *Store, m *mapping) ([]string, error) {
	var all []string
	for _, c := range m.cat.columns {
		all = append(all, c.name)
	}
	if m.xmin {
		all = append(all, "xmin")
	}
	if err := e.may(ctx, t, m.cat, "SELECT", all); err != nil {
		return nil, err
	}
	if p == look {
		return e.auditReader(ctx, t, m)
	}
	if err := e.auditWriter(ctx, t, s, m); err != nil {
		return nil, err
	}
	optional, err := e.auditOptional(ctx, t, m)
	if err != nil {
		return nil, err
	}
	triggers, err := e.triggers(ctx, t, m.cat)
	return append(optional, triggers...), err
}

func (e *postgres) mayUpdate(ctx context.Context, t tx, m *mapping, columns []string) error {
	return e.may(ctx, t, m.cat, "UPDATE", columns)
}

// may checks privileges on columns. A missing one is named with its GRANT.
func (e *postgres) may(ctx context.Context, t tx, c *catalog, privilege string, columns []string) error {
	s := e.dialect().stmt("SELECT a.attname, pg_catalog.has_column_privilege(a.attrelid, a.attnum, ")
	s.add(s.bind(textValue(privilege)), "), current_user, pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE') FROM pg_catalog.pg_attribute a",
		" JOIN pg_catalog.pg_class c ON c.oid = a.attrelid WHERE (a.attnum > 0 OR a.attname = 'xmin') AND NOT a.attisdropped AND a.attrelid = ", s.bind(textValue(c.oid)), " ORDER BY a.attnum")
	var missing []string
	var role string
	usage := true
	err := t.query(ctx, s, func(row []value) error {
		role, usage = row[2].String(), row[3].String() == "t"
		if name := row[0].String(); row[1].String() != "t" && slices.Contains(columns, name) {
			missing = append(missing, name)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !usage:
		return noGrant(role, "USAGE", "SCHEMA "+quote(c.schema))
	case len(missing) == 0:
		return nil
	}
	return noGrant(role, privilege+" ("+strings.Join(quoteAll(missing), ", ")+")", quote(c.schema)+"."+quote(c.name))
}

func noGrant(role, privilege, on string) error {
	return backends.Errorf(backends.NoAccess, nil, "the role %s lacks the privilege %s on %s", quote(role), privilege, on).
		WithHint("GRANT %s ON %s TO %s;", privilege, on, quote(role))
}

func (e *postgres) auditReader(ctx context.Context, t tx, m *mapping) ([]string, error) {
	return e.ask(ctx, t, "SELECT pg_catalog.row_security_active("+m.cat.oid+"::oid)", "t",
		"row-level security is active for this role: it sees, and redrives, only the rows that the policies of the table let it see")
}

// ask answers a warning if a query gives a certain answer.
func (e *postgres) ask(ctx context.Context, t tx, sql, answer, warning string) (out []string, err error) {
	err = t.query(ctx, e.dialect().stmt(sql), func(row []value) error {
		if row[0].String() == answer {
			out = append(out, warning)
		}
		return nil
	})
	return out, err
}

// auditWriter checks the role that redrives.
func (e *postgres) auditWriter(ctx context.Context, t tx, s *Store, m *mapping) error {
	replica, err := e.ask(ctx, t, "SELECT pg_catalog.pg_is_in_recovery() OR current_setting('transaction_read_only')::bool", "t", "read-only")
	if err != nil {
		return err
	}
	if len(replica) > 0 {
		return backends.Errorf(backends.ReadOnly, nil, "the connection for redrives leads to a replica or is read-only").
			WithHint("write_env, or dsn_env, must lead to the primary")
	}
	// Both roles must mean one table. Its number is the same on a replica.
	same, err := e.describe(ctx, t, m.jobs.Table)
	if err != nil {
		return err
	}
	if same == nil || same.oid != m.cat.oid {
		return misfit("write_env", "it leads to another table than read_env")
	}
	for _, g := range m.grants() {
		if err := e.may(ctx, t, g.table, g.privilege, g.columns); err != nil {
			return err
		}
	}
	if err := e.auditDelete(ctx, t, m); err != nil {
		return err
	}
	return e.auditReceipts(ctx, t, s)
}

// auditDelete checks what deleting dead rows needs beside reading them: DELETE,
// and UPDATE of any column, without which PostgreSQL locks no row.
func (e *postgres) auditDelete(ctx context.Context, t tx, m *mapping) error {
	if in := m.jobs.Redrive.Insert; in == nil || !in.Delete {
		return nil
	}
	s := e.dialect().stmt("SELECT current_user, pg_catalog.has_table_privilege(" + m.cat.oid + "::oid, 'DELETE'), pg_catalog.has_any_column_privilege(" + m.cat.oid + "::oid, 'UPDATE')")
	var missing error
	err := t.query(ctx, s, func(row []value) error {
		switch role := row[0].String(); {
		case row[1].String() != "t":
			missing = noGrant(role, "DELETE", m.table())
		case row[2].String() != "t":
			missing = noGrant(role, "UPDATE ("+quote(m.jobs.ID[0])+")", m.table())
		}
		return nil
	})
	return cmp.Or(err, missing)
}

// auditOptional warns of privileges that only some redrives need.
func (e *postgres) auditOptional(ctx context.Context, t tx, m *mapping) (warnings []string, err error) {
	j := m.jobs
	if j.Redrive.Update == nil {
		return nil, nil
	}
	wants := []struct{ column, what string }{{j.Payload.Column, "patches"}, {j.MaxAttempts, "redrives with a number of attempts"}}
	if j.Payload.Format == formatText || j.Payload.Format == formatBytes {
		wants = wants[1:] // such payloads are never patched
	}
	for _, w := range wants {
		if w.column == "" || w.column == j.MaxAttempts && j.Attempts == "" {
			continue
		}
		err := e.may(ctx, t, m.cat, "UPDATE", []string{w.column})
		lacks, ok := errors.AsType[*backends.Error](err)
		if err != nil && !ok {
			return nil, err
		}
		if ok {
			warnings = append(warnings, w.what+" will be refused until "+lacks.Hint)
		}
	}
	return warnings, nil
}

// grant is a privilege that a redrive needs.
type grant struct {
	table     *catalog
	privilege string
	columns   []string
}

// grants are what every redrive needs beside reading.
func (m *mapping) grants() (out []grant) {
	set := sortedKeys(m.jobs.Redrive.changes())
	if m.jobs.Redrive.Update != nil && m.jobs.Attempts != "" {
		set = append(set, m.jobs.Attempts)
	}
	if len(set) > 0 {
		out = append(out, grant{m.cat, "UPDATE", set})
	}
	if in := m.jobs.Redrive.Insert; in != nil {
		out = append(out,
			grant{m.into, "INSERT", slices.Concat(sortedKeys(in.Columns), sortedKeys(in.Set))},
			grant{m.into, "SELECT", in.Returning})
	}
	return out
}

func (e *postgres) auditReceipts(ctx context.Context, t tx, s *Store) error {
	if s.receipts == nil {
		return nil
	}
	c, err := e.describe(ctx, t, s.receipts)
	if err != nil {
		return err
	}
	if c == nil {
		return misfit("receipts", "there is no table %s", s.receipts).WithHint("docs/job-tables.md has its CREATE TABLE")
	}
	columns := []string{"ticket", "sent_at", "queue", "items", "new_ids"}
	for _, name := range columns {
		if _, ok := c.column(name); !ok {
			return misfit("receipts", "the table %s has no column %s", s.receipts, name).WithHint("docs/job-tables.md has its CREATE TABLE")
		}
	}
	if err := e.may(ctx, t, c, "INSERT", columns); err != nil {
		return err
	}
	return e.may(ctx, t, c, "SELECT", []string{"ticket", "new_ids"})
}

// triggers run as the role that redrives, so an operator should know of them.
func (e *postgres) triggers(ctx context.Context, t tx, c *catalog) (warnings []string, err error) {
	s := e.dialect().stmt("SELECT tgname FROM pg_catalog.pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgrelid = ")
	s.add(s.bind(textValue(c.oid)), " ORDER BY tgname")
	err = t.query(ctx, s, func(row []value) error {
		warnings = append(warnings, fmt.Sprintf("the trigger %s of %s runs with each redrive, as the role that redrives", quote(row[0].String()), c.name))
		return nil
	})
	return warnings, err
}

// unindexed warns when no index serves a listing. The planner is told to avoid
// reading and sorting the whole table, so that the answer does not depend on
// how many rows there are today.
func (e *postgres) unindexed(ctx context.Context, t tx, m *mapping) (warnings []string, err error) {
	off := e.dialect().stmt("SELECT set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)")
	if err := t.query(ctx, off, func([]value) error { return nil }); err != nil {
		return nil, err
	}
	page := m.page(m.rows(false), nil, 1)
	s := e.dialect().stmt("EXPLAIN ").add(page.String())
	s.args = page.args
	sorted := false
	err = t.query(ctx, s, func(row []value) error {
		line := row[0].String()
		sorted = sorted || strings.Contains(line, "Sort") || strings.Contains(line, "Seq Scan")
		return nil
	})
	// PostgreSQL finds a name itself. It makes no index of a foreign table, and
	// none concurrently of a partitioned one.
	create := "CREATE INDEX CONCURRENTLY"
	if m.cat.kind == "p" {
		create = "CREATE INDEX"
	}
	if sorted && !m.cat.view && m.cat.kind != "f" {
		warnings = append(warnings, slowListing+m.index(create))
	}
	return warnings, err
}
