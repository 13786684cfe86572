package sqljobs

import (
	"errors"
	"strings"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// fault reads SQLite's result codes (https://www.sqlite.org/rescode.html).
func (e *sqlite) fault(err error) fault {
	sq, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return otherFault(err)
	}
	switch sq.Code() {
	case codes.SQLITE_CONSTRAINT_UNIQUE, codes.SQLITE_CONSTRAINT_PRIMARYKEY, codes.SQLITE_CONSTRAINT_ROWID:
		return fault{code: backends.Conflict, sentence: "an equal job is already queued", row: true}
	}
	switch sq.Code() & 0xff {
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH, codes.SQLITE_TOOBIG:
		return fault{code: backends.Refused, sentence: "a rule of the table refuses the row", row: true}
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return fault{code: backends.Busy, sentence: "another program holds the database", hint: "try again in a minute"}
	case codes.SQLITE_READONLY:
		return fault{code: backends.ReadOnly, sentence: "the database file cannot be written", hint: "check the permissions of the file and of its folder"}
	case codes.SQLITE_CANTOPEN, codes.SQLITE_NOTADB, codes.SQLITE_PERM, codes.SQLITE_CORRUPT:
		return fault{code: backends.Unreachable, sentence: "the database file cannot be opened", hint: "check that it is an undamaged SQLite database"}
	case codes.SQLITE_INTERRUPT:
		return fault{code: backends.TooSlow, sentence: "the statement was stopped", hint: "an index on the dead rows may be missing"}
	case codes.SQLITE_IOERR, codes.SQLITE_FULL:
		return fault{code: backends.Unreachable, sentence: "the database file cannot be written or read", hint: "check the disk", lost: true}
	case codes.SQLITE_ERROR:
		// SQLite has one code for all that it cannot understand.
		for _, what := range []string{"table", "column"} {
			if strings.Contains(sq.Error(), "no such "+what) {
				return fault{code: backends.BadMapping, sentence: "a " + what + " of the policy does not exist", hint: hintMissing + "; in SQL of the policy and of the table's triggers a text stands in single quotes"}
			}
		}
		return fault{code: backends.BadMapping, sentence: "the database does not accept the statement", hint: "check jobs.dead.where and the sql values of the policy"}
	}
	return fault{code: backends.Internal, sentence: "the database reports a fault"}
}
