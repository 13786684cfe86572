package sqljobs

import (
	"context"
	"errors"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// hintMissing is for names that the database does not know, or no more.
const hintMissing = "compare the policy with the table; after a change of the table restart redrive-mcp"

// errEnough ends a query early.
var errEnough = errors.New("enough rows")

func unlessEnough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// otherFault is for errors that do not come from the database itself.
func otherFault(err error) fault {
	switch {
	case errors.Is(err, context.Canceled):
		return fault{code: backends.Busy, sentence: "the call was stopped before it was finished", lost: true}
	case errors.Is(err, context.DeadlineExceeded):
		return fault{code: backends.TooSlow, sentence: "the database took longer than the time limit", hint: "an index on the dead rows may be missing", lost: true}
	}
	return fault{code: backends.Unreachable, sentence: "the connection to the database failed", hint: "check that it is running and can be reached", lost: true}
}

// denied explains the error of a redrive. A database says that something was
// denied, but not which column it was, so what the role lacks is looked up. The
// columns are those to update beside what every redrive does.
func (s *Store) denied(ctx context.Context, m *mapping, columns []string, err error) error {
	if _, ours := errors.AsType[*backends.Error](err); ours || s.engine.fault(err).code != backends.NoAccess {
		return s.explain(err)
	}
	lack := s.within(ctx, send, m, func(t tx) error {
		if _, err := s.engine.audit(ctx, t, send, s, m); err != nil {
			return err
		}
		return s.engine.mayUpdate(ctx, t, m, columns)
	})
	if named, ok := errors.AsType[*backends.Error](lack); ok {
		named.Cause = err
		return named
	}
	return s.explain(err)
}

// explain turns an error of an engine into one of ours. Errors that are ours
// already stay as they are.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	if ours, ok := errors.AsType[*backends.Error](err); ok {
		return ours
	}
	return s.engine.fault(err).error(err)
}
