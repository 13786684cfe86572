package sqljobs

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// fault reads SQLSTATEs
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func (e *postgres) fault(err error) fault {
	if errors.Is(err, errRolledBack) {
		return fault{code: backends.Refused, sentence: "the database rolled the batch back"}
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return otherFault(err)
	}
	f, ok := states[pg.Code]
	if !ok {
		f, ok = classes[pg.Code[:min(2, len(pg.Code))]]
	}
	if !ok {
		// A code that PostgreSQL does not define is a trigger's own.
		f = fault{code: backends.Refused, sentence: "a trigger of the table refuses the row", row: true}
	}
	// FATAL ends the session: a commit that it interrupts may have happened.
	f.lost = f.lost || strings.EqualFold(pg.Severity, "FATAL") || strings.EqualFold(pg.Severity, "PANIC")
	return f
}

var states = map[string]fault{
	"57014": {code: backends.TooSlow, sentence: "the statement took longer than its time limit", hint: "an index on the dead rows may be missing; redrive-mcp doctor says which"},
	"55P03": {code: backends.Busy, sentence: "another session holds the rows", hint: "try again in a minute"},
	"40001": {code: backends.Busy, sentence: "another session changed the rows at the same time", hint: "try again in a minute", retry: true},
	"40P01": {code: backends.Busy, sentence: "another session changed the rows at the same time", hint: "try again in a minute", retry: true},
	"42501": {code: backends.NoAccess, sentence: "the role lacks a privilege, or a row policy refuses the row", hint: "a trigger of the table may need a grant of its own; redrive-mcp doctor names the triggers"},
	"42P01": {code: backends.BadMapping, sentence: "a table of the policy does not exist", hint: hintMissing},
	"42703": {code: backends.BadMapping, sentence: "a column of the policy does not exist", hint: hintMissing},
	"22P02": {code: backends.BadMapping, sentence: "a value is not possible in its column", hint: "check jobs.dead, the values that a redrive sets, and the queue's name", badInput: true},
	"22003": {code: backends.BadMapping, sentence: "a value is out of its column's range", badInput: true},
	"22021": {code: backends.BadMapping, sentence: "a value is no valid text", badInput: true},
	"22007": {code: backends.BadMapping, sentence: "a value is no valid time", badInput: true},
	"22008": {code: backends.BadMapping, sentence: "a value is no possible time", badInput: true},
	"22P03": {code: backends.BadMapping, sentence: "a value is not possible in its column", badInput: true},
	"23505": {code: backends.Conflict, sentence: "an equal job is already queued", row: true},
	"23P01": {code: backends.Conflict, sentence: "an equal job is already queued", row: true},
	"25006": {code: backends.ReadOnly, sentence: "the connection is read-only", hint: "write_env, or dsn_env, must lead to the primary"},
}

var classes = map[string]fault{
	"08": {code: backends.Unreachable, sentence: "the connection to the database failed", hint: "a pooler in front of it may have no session free, or refuse a setting of the connection string", lost: true},
	"22": {code: backends.Refused, sentence: "a value does not fit its column", row: true},
	"23": {code: backends.Refused, sentence: "a rule of the table refuses the row", row: true},
	"28": {code: backends.NoAccess, sentence: "the database does not let the role in", hint: "check the user and the password in the environment variable"},
	"3D": {code: backends.Unreachable, sentence: "the database does not exist", hint: "check the database's name in the environment variable"},
	"42": {code: backends.BadMapping, sentence: "the database does not accept the statement", hint: "check jobs.dead.where and the sql values of the policy"},
	"44": {code: backends.Refused, sentence: "a rule of the view refuses the row", row: true},
	"53": {code: backends.Unreachable, sentence: "the database has no more room or connections"},
	"57": {code: backends.Unreachable, sentence: "the database is shutting down or not ready"},
	"0A": {code: backends.Internal, sentence: "the database cannot do this"},
	"25": {code: backends.Internal, sentence: "the transaction is in no state for this"},
	"40": {code: backends.Refused, sentence: "the database rolled the batch back"},
	"54": {code: backends.Internal, sentence: "a limit of the database is reached"},
	"55": {code: backends.Busy, sentence: "an object of the database is in use or in no state for this"},
	"58": {code: backends.Internal, sentence: "the database's system reports a fault"},
	"F0": {code: backends.Internal, sentence: "the database's configuration is at fault"},
	"XX": {code: backends.Internal, sentence: "the database reports a fault of its own"},
	"P0": {code: backends.Refused, sentence: "a trigger of the table refuses the row", row: true},
}
