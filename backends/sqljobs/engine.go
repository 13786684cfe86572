package sqljobs

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// purpose is what a transaction is for.
type purpose int

const (
	look purpose = iota // reads only
	send                // redrives, or settles what became of a redrive
)

// engine is what differs between the databases.
type engine interface {
	begin(ctx context.Context, p purpose) (tx, error)
	// home is what transactions that begin now work on, and equal as long as
	// that is the same. It is nil where only a transaction can tell.
	home() (any, error)
	// moved is the error of a transaction that works on something else than what
	// the mapping was made for.
	moved(p purpose) error
	// target names what is really connected to.
	target(ctx context.Context, m *mapping) (backends.Target, error)
	// lag is how far the database that is read may be behind; negative if unknown.
	lag(ctx context.Context, t tx) (time.Duration, error)
	// describe answers nil for a table that is not there.
	describe(ctx context.Context, t tx, name Table) (*catalog, error)
	// audit checks what the role of t may do, and what an operator should know.
	audit(ctx context.Context, t tx, p purpose, s *Store, m *mapping) (warnings []string, err error)
	// mayUpdate fails if the role of t may not update some columns of the table.
	mayUpdate(ctx context.Context, t tx, m *mapping, columns []string) error
	// unindexed warns when no index serves a listing. It may leave t with
	// settings that make other statements slow.
	unindexed(ctx context.Context, t tx, m *mapping) (warnings []string, err error)
	// wake tells workers, after the commit, that there is work.
	wake(ctx context.Context, n *Notify, queue string) error
	fault(err error) fault
	dialect() dialect
	close() error
}

// tx is one transaction on one connection.
type tx interface {
	// home is what this transaction works on.
	home() any
	// query calls each with every row. The values are borrowed until the next
	// row. errEnough from each ends the rows without an error.
	query(ctx context.Context, s *stmt, each func([]value) error) error
	exec(ctx context.Context, s *stmt) (rows int64, err error)
	commit(ctx context.Context) error
	// rollback may be called after commit, and does nothing then.
	rollback()
}

// dialect are the spellings that differ.
type dialect struct {
	param    string                              // before the number of a parameter
	skip     string                              // after a SELECT: lock what is free
	wait     string                              // after a SELECT: lock, and wait for the lock's time limit
	now      string                              // the present instant with its zone
	deferred string                              // makes deferred constraints speak now; empty: there are none
	size     func(c column) string               // the bytes of a payload
	nowIn    func(c column, v Value) string      // the present time as a column stores it
	read     func(c column, pick string) string  // a column as it is stored
	cast     func(param string, c column) string // a parameter of a column's type
	list     func(ids [][]value) value           // ids of one column as one array; nil: there are no arrays
}

// fault is what an error of a database means.
type fault struct {
	code     backends.Code
	sentence string
	hint     string
	badInput bool // a parameter is no possible value of its column
	row      bool // this row is refused, others may go on
	retry    bool // the same transaction may succeed at the next try
	lost     bool // the connection is gone: a commit may have happened
}

func (f fault) error(cause error) *backends.Error {
	return &backends.Error{Code: f.code, Sentence: f.sentence, Hint: f.hint, Cause: cause}
}

// column is one column as the catalog describes it.
type column struct {
	name      string
	typ       string // lower-case, as the database prints it
	notNull   bool
	generated bool
	blob      bool // holds bytes
	partition bool // part of the partition key
}

// catalog is a table as the database describes it.
type catalog struct {
	schema, name string
	oid          string // the table's number in Postgres
	kind         string // relkind in Postgres: r, p (partitioned), v, m or f (foreign)
	view         bool
	columns      []column
	unique       [][]string // columns of each unique index over all rows
}

func (c *catalog) column(name string) (column, bool) {
	for _, col := range c.columns {
		if col.name == name {
			return col, true
		}
	}
	return column{}, false
}

// stmt is one statement with its parameters.
type stmt struct {
	strings.Builder
	prefix string
	args   []value
	blobs  []bool // which result columns are to be had as bytes; nil: none
}

func (d dialect) stmt(sql string) *stmt {
	s := &stmt{prefix: d.param}
	s.WriteString(sql)
	return s
}

// bind adds a parameter and answers its placeholder.
func (s *stmt) bind(v value) string {
	s.args = append(s.args, v)
	return s.prefix + strconv.Itoa(len(s.args))
}

func (s *stmt) bindAll(vs []value) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = s.bind(v)
	}
	return out
}

// add writes parts of SQL one after another.
func (s *stmt) add(parts ...string) *stmt {
	for _, p := range parts {
		s.WriteString(p)
	}
	return s
}
