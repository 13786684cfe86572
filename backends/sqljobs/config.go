package sqljobs

import (
	"time"

	"gopkg.in/yaml.v3"
)

// PostgresBackend is the section of a backend of type postgres.
type PostgresBackend struct {
	DSNEnv   string            `yaml:"dsn_env" doc:"Name of the environment variable that holds the connection string, for reading and for redrives."`
	ReadEnv  string            `yaml:"read_env" doc:"Name of the variable with the connection string of the role that only reads."`
	WriteEnv string            `yaml:"write_env" doc:"Name of the variable with the connection string of the role that redrives."`
	Session  map[string]string `yaml:"session" doc:"Settings of each transaction, as row-level security policies read them: app.tenant: t1."`
	Receipts Table             `yaml:"receipts" doc:"Schema-qualified table for receipts. Without it some interrupted redrives cannot be settled."`
	Timeouts Timeouts          `yaml:"timeouts" doc:"Limits of each statement."`
	Jobs     Jobs              `yaml:"jobs" doc:"How the columns of the job table are to be read."`
}

// SQLiteBackend is the section of a backend of type sqlite.
type SQLiteBackend struct {
	File     string   `yaml:"file" doc:"The database file, relative to the folder of the policy."`
	Receipts Table    `yaml:"receipts" doc:"Table for receipts, made if it is missing; redrive_receipts by default, none for no receipts."`
	Timeouts Timeouts `yaml:"timeouts" doc:"Limits of each statement."`
	Jobs     Jobs     `yaml:"jobs" doc:"How the columns of the job table are to be read."`
}

// Source is the section queues.NAME.source of either kind.
type Source struct {
	Queue string `yaml:"queue" doc:"The value of the queue column. Absent where the whole table is one queue."`
}

// Timeouts limit what one statement may take of the store. Zero means the
// default: 5s for a statement, 2s for a lock.
type Timeouts struct {
	Statement time.Duration `yaml:"statement" doc:"The longest a statement may run, 5s by default."`
	Lock      time.Duration `yaml:"lock" doc:"The longest a statement may wait for a lock, 2s by default."`
}

func (t Timeouts) statement() time.Duration { return orElse(t.Statement, 5*time.Second) }
func (t Timeouts) lock() time.Duration      { return orElse(t.Lock, 2*time.Second) }

func orElse(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

// Jobs maps the columns of a job table.
type Jobs struct {
	Table         Table         `yaml:"table" doc:"The job table; schema-qualified in Postgres."`
	ID            Columns       `yaml:"id" doc:"The column, or the list of columns, of the unique id."`
	Queue         string        `yaml:"queue" doc:"The column of the queue name. Absent: the whole table is one queue."`
	Job           JobColumn     `yaml:"job" doc:"The column of the job's name, or {value: NAME}."`
	Payload       PayloadColumn `yaml:"payload" doc:"The column of the payload, or {column: NAME, format: json|text|bytes}."`
	Dead          Dead          `yaml:"dead" doc:"Which rows are dead letters."`
	Attempts      string        `yaml:"attempts" doc:"The column that counts attempts."`
	MaxAttempts   string        `yaml:"max_attempts" doc:"The column of the largest number of attempts."`
	Error         ErrorColumn   `yaml:"error" doc:"The column of the last error."`
	EnqueuedAt    TimeColumn    `yaml:"enqueued_at" doc:"When the job was first queued."`
	LastAttemptAt TimeColumn    `yaml:"last_attempt_at" doc:"When it was last tried."`
	DeadAt        TimeColumn    `yaml:"dead_at" doc:"When it died. Required in SQLite."`
	ExpiresAfter  Days          `yaml:"expires_after" doc:"How long the queue's own cleaner keeps dead rows, such as 7d or 36h."`
	Group         string        `yaml:"group" doc:"The column of the worker or worker group."`
	Redrive       Redrive       `yaml:"redrive" doc:"How a dead row is queued again: update or insert."`
}

// Dead is the predicate of a dead letter: a column with values, or SQL that
// the operator wrote.
type Dead struct {
	Column string `yaml:"column" doc:"The status column."`
	In     Values `yaml:"in" doc:"Its values of dead rows."`
	Where  string `yaml:"where" doc:"Instead: a condition in SQL, such as failed_at IS NOT NULL."`
}

// Redrive is exactly one of two ways to queue a dead row again.
type Redrive struct {
	Update *Update `yaml:"update" doc:"The same row becomes ready again."`
	Insert *Insert `yaml:"insert" doc:"A new row is made, and the dead one is marked."`
	Notify *Notify `yaml:"notify" doc:"A notification after the commit (Postgres)."`
}

// Update sets columns of the dead row. The attempts are set by the order.
type Update struct {
	Set map[string]Value `yaml:"set" null:"true" doc:"Column: value. A value is a scalar, null, {now: true} or {sql: EXPRESSION}."`
}

// Insert makes a new row of the dead one.
type Insert struct {
	Into      Table             `yaml:"into" doc:"The table that workers read."`
	Columns   map[string]string `yaml:"columns" doc:"Target column: column of the dead row."`
	Set       map[string]Value  `yaml:"set" null:"true" doc:"Target column: value."`
	Returning Columns           `yaml:"returning" doc:"The id column, or columns, of the new row."`
	Mark      map[string]Value  `yaml:"mark" null:"true" doc:"Columns of the dead row that say that it was redriven."`
	Delete    bool              `yaml:"delete" doc:"Delete the dead row instead, where the library itself does so."`
}

// Notify is a Postgres notification that wakes workers.
type Notify struct {
	Channel string `yaml:"channel" doc:"The channel."`
	Payload string `yaml:"payload" doc:"The text; {queue} stands for the queue's name in the store."`
}

// JobColumn is where a job's name is found: in a column, or always the same.
type JobColumn struct {
	Column string `yaml:"column" doc:"The column of the job's name."`
	Value  string `yaml:"value" doc:"The name of all jobs of the table."`
}

// UnmarshalYAML accepts a column name or a mapping.
func (c *JobColumn) UnmarshalYAML(n *yaml.Node) error {
	type plain JobColumn
	return scalarOr(n, &c.Column, (*plain)(c))
}

// PayloadColumn is where the payload is found and how it may be read.
type PayloadColumn struct {
	Column string `yaml:"column" doc:"The column of the payload."`
	Format string `yaml:"format" doc:"json (may be patched), text or bytes (never patched); by default what the bytes are."`
}

// UnmarshalYAML accepts a column name or a mapping.
func (c *PayloadColumn) UnmarshalYAML(n *yaml.Node) error {
	type plain PayloadColumn
	return scalarOr(n, &c.Column, (*plain)(c))
}

// ErrorColumn is where the last error is found and which of its parts are what.
type ErrorColumn struct {
	Column string   `yaml:"column" doc:"The column of the error."`
	Format string   `yaml:"format" doc:"text, json, jsonb_array or text_array; by default what the column's type says."`
	Path   []string `yaml:"path" doc:"Where the message stands in the JSON."`
	Code   []string `yaml:"code" doc:"Where the error's type or code stands in the JSON."`
	Stack  []string `yaml:"stack" doc:"Where the stack stands in the JSON."`
	Pick   string   `yaml:"pick" doc:"Which element of an array: last (the default) or first."`
}

// UnmarshalYAML accepts a column name or a mapping.
func (c *ErrorColumn) UnmarshalYAML(n *yaml.Node) error {
	type plain ErrorColumn
	return scalarOr(n, &c.Column, (*plain)(c))
}

// TimeColumn is a point in time. TZ is for times that are stored without a
// zone, Unit for numbers.
type TimeColumn struct {
	Column string `yaml:"column" doc:"The column of the time."`
	TZ     string `yaml:"tz" doc:"The time zone of a time without one, such as utc or Europe/Berlin."`
	Unit   string `yaml:"unit" doc:"s, ms or us since 1970, for a number."`
}

// UnmarshalYAML accepts a column name or a mapping.
func (c *TimeColumn) UnmarshalYAML(n *yaml.Node) error {
	type plain TimeColumn
	return scalarOr(n, &c.Column, (*plain)(c))
}
