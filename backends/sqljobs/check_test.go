package sqljobs_test

import (
	"errors"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
)

const good = `dsn_env: APP_DSN
receipts: redrive.receipts
jobs:
  table: app.jobs
  id: id
  queue: queue
  job: kind
  payload: payload
  dead: {column: status, in: [failed, 5]}
  attempts: attempts
  max_attempts: max_attempts
  error: {column: error, format: json, path: [message]}
  enqueued_at: {column: created_at, tz: utc}
  dead_at: failed_at
  expires_after: 7d
  redrive:
    update:
      set: {status: queued, failed_at: null, run_at: {now: true}}
`

// TestCheck changes one thing of a good section and wants the key at fault.
func TestCheck(t *testing.T) {
	const set = "set: {status: queued, failed_at: null, run_at: {now: true}}"
	const update = "    update:\n      " + set
	insert := func(rest string) string { return "    insert:\n      into: app.jobs\n      returning: id\n" + rest }
	for _, c := range []struct{ name, old, new, key string }{
		{"good", "", "", ""},
		{"dsn in place of a name", "dsn_env: APP_DSN", "dsn_env: postgres://u:hunter2@h/db", "dsn_env"},
		{"no dsn", "dsn_env: APP_DSN", "timeouts: {lock: 1s}", "dsn_env"},
		{"both dsns", "dsn_env: APP_DSN", "dsn_env: A\nread_env: B", "dsn_env"},
		{"write alone", "dsn_env: APP_DSN", "write_env: B", "read_env"},
		{"setting", "dsn_env: APP_DSN", "dsn_env: A\nsession: {a: \"x\\ny\"}", "session.a"},
		{"receipts unqualified", "redrive.receipts", "receipts", "receipts"},
		{"table unqualified", "app.jobs", "jobs", "jobs.table"},
		{"table quoted", "app.jobs", `app."jobs"`, "jobs.table"},
		{"table in three parts", "app.jobs", "a.b.c", "jobs.table"},
		{"name with a dot", "app.jobs", "[app, jobs.v2]", ""},
		{"no id", "  id: id\n", "", "jobs.id"},
		{"no payload", "  payload: payload\n", "", "jobs.payload"},
		{"payload format", "payload: payload", "payload: {column: payload, format: xml}", "jobs.payload.format"},
		{"two jobs", "job: kind", "job: {column: kind, value: x}", "jobs.job"},
		{"long column", "queue: queue", "queue: " + strings.Repeat("q", 64), "jobs"},
		{"no dead", "{column: status, in: [failed, 5]}", "{}", "jobs.dead"},
		{"two deads", "{column: status, in: [failed, 5]}", "{column: status, in: [x], where: y}", "jobs.dead"},
		{"dead without values", "{column: status, in: [failed, 5]}", "{column: status}", "jobs.dead"},
		{"dead by an expression", "[failed, 5]", "[{sql: x}]", "jobs.dead.in"},
		{"two statements", "{column: status, in: [failed, 5]}", "{where: \"true; DROP TABLE x\"}", "jobs.dead.where"},
		{"zone", "tz: utc", "tz: Mars", "jobs.enqueued_at.tz"},
		{"local zone", "tz: utc", "tz: Local", "jobs.enqueued_at.tz"},
		{"unit", "tz: utc", "unit: h", "jobs.enqueued_at.unit"},
		{"expiry without death", "  dead_at: failed_at\n", "", "jobs.expires_after"},
		{"error format", "format: json", "format: xml", "jobs.error.format"},
		{"no redrive", update, "    notify: {channel: c}", "jobs.redrive"},
		{"two redrives", update, update + "\n" + insert("      columns: {payload: payload}\n      delete: true"), "jobs.redrive"},
		{"nothing set", set, "set: {}", "jobs.redrive.update.set"},
		{"id set", set, "set: {id: 1}", "jobs.redrive.update.set.id"},
		{"queue set", set, "set: {queue: x}", "jobs.redrive.update.set.queue"},
		{"payload set", set, "set: {payload: x}", "jobs.redrive.update.set.payload"},
		{"attempts set", set, "set: {attempts: 0}", "jobs.redrive.update.set.attempts"},
		{"two expressions", set, "set: {run_at: {sql: \"now(); x\"}}", "jobs.redrive.update.set.run_at"},
		{"now with format", set, "set: {run_at: {now: true, format: rfc3339}}", "jobs.redrive.update.set.run_at.format"},
		{"insert", update, insert("      columns: {payload: payload}\n      mark: {status: replayed}"), ""},
		{"insert without payload", update, insert("      columns: {queue: queue}\n      delete: true"), "jobs.redrive.insert.columns"},
		{"insert without mark", update, insert("      columns: {payload: payload}"), "jobs.redrive.insert.mark"},
		{"insert with both", update, insert("      columns: {payload: payload}\n      mark: {status: x}\n      delete: true"), "jobs.redrive.insert.mark"},
		{"insert twice", update, insert("      columns: {payload: payload}\n      set: {payload: x}\n      delete: true"), "jobs.redrive.insert.columns.payload"},
		{"insert marks the id", update, insert("      columns: {payload: payload}\n      mark: {id: x}"), "jobs.redrive.insert.mark.id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if c.new != c.old && text == good {
				t.Fatalf("%q is not in the good section", c.old)
			}
			b := new(sqljobs.PostgresBackend)
			fill(t, text, b)
			err := sqljobs.Postgres().Check(backends.Config{Backend: b, Sources: map[string]any{"jobs": &sqljobs.Source{Queue: "default"}}})
			if c.key == "" {
				if err != nil {
					t.Errorf("a good section is refused: %v", err)
				}
				return
			}
			e, ok := errors.AsType[*backends.ConfigError](err)
			if !ok || e.Key != c.key || e.Why == "" || e.Hint == "" {
				t.Fatalf("the error is %#v, want one at %s with a hint", err, c.key)
			}
			if strings.Contains(e.Error()+e.Hint, "hunter2") {
				t.Errorf("the error repeats a password: %s", e)
			}
		})
	}
}

// TestSources: a queue needs its name where the table has several.
func TestSources(t *testing.T) {
	whole := strings.Replace(good, "  queue: queue\n", "", 1)
	for _, c := range []struct {
		text    string
		sources map[string]any
		queue   string
	}{
		{good, map[string]any{"jobs": &sqljobs.Source{}}, "jobs"},
		{whole, map[string]any{"jobs": &sqljobs.Source{Queue: "x"}}, "jobs"},
		{good, map[string]any{"a": &sqljobs.Source{Queue: "x"}, "b": &sqljobs.Source{Queue: "x"}}, "b"},
		{good, map[string]any{"a": &sqljobs.Source{Queue: "x"}, "b": &sqljobs.Source{}}, "b"},
		{whole, map[string]any{"a": &sqljobs.Source{}, "b": &sqljobs.Source{}}, "b"},
		{whole, map[string]any{"a": &sqljobs.Source{}, "b": &sqljobs.Source{Queue: "x"}}, "b"},
	} {
		b := new(sqljobs.PostgresBackend)
		fill(t, c.text, b)
		err := sqljobs.Postgres().Check(backends.Config{Backend: b, Sources: c.sources})
		if e, ok := errors.AsType[*backends.ConfigError](err); !ok || e.Queue != c.queue || e.Key != "queue" || e.Why == "" || e.Hint == "" {
			t.Errorf("the error is %#v, want one at the queue of %s", err, c.queue)
		}
	}
}

// TestStrictKeys: a key that is not known is an error also within keys that
// may be a scalar or a mapping.
func TestStrictKeys(t *testing.T) {
	for _, line := range []string{
		"payload: {column: p, fromat: json}", "error: {column: e, pth: [m]}", "dead_at: {column: d, zone: utc}",
		"job: {colum: j}", "redrive: {update: {set: {a: {now: true, zone: utc}}}}", "redrive: {update: {set: {a: {}}}}",
		"dead: {colum: s}", "dead: {column: s, in: [{now: false}]}", "dead: {column: s, in: [a, null]}", "expires_after: 7", "expires_after: -1d", "payload: [a]", "redrive: {upsert: {}}",
	} {
		dec := yaml.NewDecoder(strings.NewReader("jobs: {" + line + "}"))
		dec.KnownFields(true)
		if err := dec.Decode(new(sqljobs.PostgresBackend)); err == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}

// TestSQLiteCheck: what is different for a file.
func TestSQLiteCheck(t *testing.T) {
	section := strings.NewReplacer("dsn_env: APP_DSN\nreceipts: redrive.receipts", "file: jobs.db", "app.jobs", "jobs").Replace(good)
	for _, c := range []struct{ old, new, key string }{
		{"", "", ""},
		{"file: jobs.db", "receipts: none", "file"},
		{"file: jobs.db", "file: x\nreceipts: a.b", "receipts"},
		{"table: jobs", "table: main.jobs", "jobs.table"},
		{"  dead_at: failed_at\n  expires_after: 7d\n", "", "jobs.dead_at"},
		{"  redrive:\n", "  redrive:\n    notify: {channel: c}\n", "jobs.redrive.notify"},
		{"{now: true}", "{now: true, tz: Europe/Berlin}", "jobs.redrive.update.set.run_at.tz"},
	} {
		b := new(sqljobs.SQLiteBackend)
		fill(t, strings.Replace(section, c.old, c.new, 1), b)
		err := sqljobs.SQLite().Check(backends.Config{Backend: b, Sources: map[string]any{"jobs": &sqljobs.Source{Queue: "default"}}})
		e, _ := errors.AsType[*backends.ConfigError](err)
		if (c.key == "") != (err == nil) || e != nil && e.Key != c.key {
			t.Errorf("%q for %q gives %v, want a fault at %q", c.new, c.old, err, c.key)
		}
	}
}

// TestEffect: what a redrive does is one sentence that is true for each way to
// give attempts.
func TestEffect(t *testing.T) {
	const update = "the same row of jobs is queued again by setting failed_at, status, in one transaction"
	mapping := func(attempts, how string) string {
		return "jobs: {table: jobs, id: id, payload: payload, dead: {column: status, in: [failed]}, dead_at: failed_at, " + attempts + "redrive: {" + how + "}}"
	}
	const set = "update: {set: {status: queued, failed_at: null}}"
	for _, c := range []struct{ attempts, how, want string }{
		{"", set, update},
		{"attempts: tries, ", set, update + "; a reset of the attempts sets tries to 0"},
		{"attempts: tries, max_attempts: most, ", set, update + "; a reset of the attempts sets tries to 0, and a number of further ones sets most"},
		{"max_attempts: most, ", set, update},
		{"attempts: tries, ", "insert: {into: live, columns: {payload: payload}, returning: id, mark: {status: replayed}}",
			"a new row is inserted into live and the dead row is marked in jobs, in one transaction"},
	} {
		b := sqljobs.SQLite().NewBackend()
		fill(t, "file: jobs.db\n"+mapping(c.attempts, c.how), b)
		st, err := sqljobs.SQLite().Open(backends.Config{Name: "app", Backend: b, Sources: map[string]any{"jobs": &sqljobs.Source{}}, Folder: t.TempDir()})
		if err != nil {
			t.Fatalf("%s%s: %v", c.attempts, c.how, err)
		}
		if got := st.Can("jobs").Effect; got != c.want {
			t.Errorf("%s%s: %q, want %q", c.attempts, c.how, got, c.want)
		}
		st.Close()
	}
}
