package sqljobs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
)

// mapping is one queue of the policy on the table that the database really
// has.
type mapping struct {
	queue    string // its name in the policy
	selector string // the value of the queue column
	jobs     *Jobs
	cat      *catalog
	into     *catalog // where an insert goes, nil for a redrive by update
	d        dialect
	at       map[string]int // column -> its place in the catalog and in each row
	id       []int
	idBlobs  []bool
	envelope []bool // which columns the envelope covers
	plain    []bool // which columns are attributes
	xmin     bool   // the row's version is the Mark
	failure  ErrorColumn
	home     any  // what the table was found on
	audited  bool // the writing role was checked; guarded by Store.mu
}

// newMapping expects names that were checked.
func newMapping(name, selector string, jobs *Jobs, cat *catalog, d dialect) *mapping {
	m := &mapping{queue: name, selector: selector, jobs: jobs, cat: cat, d: d, at: map[string]int{}, xmin: jobs.DeadAt.Column == ""}
	for i, c := range cat.columns {
		m.at[c.name] = i
	}
	for _, c := range jobs.ID {
		m.id = append(m.id, m.at[c])
		m.idBlobs = append(m.idBlobs, cat.columns[m.at[c]].blob)
	}
	m.failure = jobs.Error.on(cat)
	failure, roles := jobs.failure(), jobs.roles()
	for _, c := range cat.columns {
		covered := !slices.Contains(failure, c.name)
		m.envelope = append(m.envelope, covered)
		m.plain = append(m.plain, covered && !slices.Contains(roles, c.name))
	}
	return m
}

// failure are the columns that describe the failure or that a redrive sets.
func (j *Jobs) failure() []string {
	out := []string{j.Dead.Column, j.Attempts, j.Error.Column, j.DeadAt.Column, j.LastAttemptAt.Column, j.Group}
	for c := range j.Redrive.changes() {
		out = append(out, c)
	}
	return out
}

// roles are the columns that a letter shows elsewhere than in its attributes.
func (j *Jobs) roles() []string {
	return append([]string{j.Queue, j.Job.Column, j.Payload.Column, j.EnqueuedAt.Column, j.MaxAttempts}, j.ID...)
}

// changes are the columns of the dead row that a redrive sets by the policy.
func (r Redrive) changes() map[string]Value {
	switch {
	case r.Update != nil:
		return r.Update.Set
	case r.Insert != nil:
		return r.Insert.Mark
	}
	return nil
}

// named is the value of a column in a row, absent for an unmapped column.
func (m *mapping) named(row []value, name string) value {
	if i, ok := m.at[name]; ok {
		return row[i]
	}
	return value{}
}

func (m *mapping) idOf(row []value) []value {
	out := make([]value, len(m.id))
	for i, at := range m.id {
		out[i] = row[at]
	}
	return out
}

// key is the row's place in the order of a scan.
func (m *mapping) key(row []value) []value {
	if m.xmin {
		return m.idOf(row)
	}
	return append([]value{m.named(row, m.jobs.DeadAt.Column)}, m.idOf(row)...)
}

// mark tells one death of a job from the next: the time of death as it is
// stored and the count of attempts, or else the version of the row.
func (m *mapping) mark(row []value) string {
	if m.xmin {
		return "xmin " + row[len(m.cat.columns)+1].String()
	}
	mark := m.named(row, m.jobs.DeadAt.Column).String()
	if m.jobs.Attempts != "" {
		mark += " attempts " + m.named(row, m.jobs.Attempts).String()
	}
	return mark
}

// seal is the envelope of a row that was read with its payload. The name of a
// field carries its storage class where a database keeps one a value.
func (m *mapping) seal(row []value, keep bool) *backends.Envelope {
	e := backends.NewEnvelope(keep)
	for i, c := range m.cat.columns {
		if !m.envelope[i] {
			continue
		}
		name := c.name
		if k := row[i].kind; k != null && k != text {
			name += ":" + string(k)
		}
		e.Add(name, row[i].orEmpty())
	}
	return e
}

func (m *mapping) ref(row []value, e *backends.Envelope) backends.Ref {
	return backends.Ref{Queue: m.queue, ID: idText(m.idOf(row)), Mark: m.mark(row), Digest: e.Digest()}
}

// letter is a row as every store shows its letters.
func (m *mapping) letter(row []value, bodies bool) *backends.DeadLetter {
	j := m.jobs
	dead := j.DeadAt.at(m.named(row, j.DeadAt.Column))
	l := &backends.DeadLetter{
		Ref:      backends.Ref{Queue: m.queue, ID: idText(m.idOf(row)), Mark: m.mark(row)},
		Reason:   m.failure.reason(m.named(row, j.Error.Column)),
		Payload:  m.payload(row, bodies),
		Attempts: backends.Attempts{Made: count(m.named(row, j.Attempts)), Limit: count(m.named(row, j.MaxAttempts))},
		Times: backends.Times{
			Enqueued:    j.EnqueuedAt.at(m.named(row, j.EnqueuedAt.Column)),
			LastAttempt: j.LastAttemptAt.at(m.named(row, j.LastAttemptAt.Column)),
			Dead:        dead,
		},
		Origin:     m.origin(row),
		Attributes: m.attributes(row),
		After:      position(m.key(row)),
	}
	if j.ExpiresAfter > 0 && !dead.IsZero() {
		l.Expires = dead.Add(time.Duration(j.ExpiresAfter))
	}
	if bodies {
		e := m.seal(row, true)
		l.Digest, l.Envelope = e.Digest(), e.Bytes()
	}
	return l
}

func (m *mapping) origin(row []value) backends.Origin {
	o := backends.Origin{
		Queue: backends.Hostile(m.named(row, m.jobs.Queue).String()),
		Group: backends.Hostile(m.named(row, m.jobs.Group).String()),
		Job:   backends.Hostile(m.named(row, m.jobs.Job.Column).String()),
	}
	if v := m.jobs.Job.Value; v != "" {
		o.Job = backends.Hostile(v)
	}
	return o
}

// maxAttributes bounds what a wide table adds to each letter. The envelope
// covers all columns whatever their number.
const maxAttributes = 32

func (m *mapping) attributes(row []value) []backends.Attribute {
	var out []backends.Attribute
	for i, c := range m.cat.columns {
		if m.plain[i] && row[i].kind != null && len(out) < maxAttributes {
			out = append(out, backends.Attribute{Name: backends.Hostile(c.name), Value: backends.Hostile(row[i].String())})
		}
	}
	return out
}

// count reads a counter, -1 where there is none.
func count(v value) int {
	n, err := strconv.Atoi(strings.TrimSpace(string(v.bytes)))
	if err != nil {
		return -1
	}
	return n
}

// target is a column of the table that an insert goes to.
func (m *mapping) target(name string) column {
	c, _ := m.into.column(name)
	return c
}
