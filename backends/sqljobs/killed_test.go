package sqljobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/backends"
	"github.com/redrive-mcp/redrive-mcp/backends/sqljobs"
)

// TestMain is also the executor that TestKilled kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("REDRIVE_TEST_EXECUTOR"); path != "" {
		if err := executor(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// errand is what an executor is to do.
type errand struct {
	Kind, Section, Folder string
	Queues, Env           map[string]string
	Items                 []backends.Item
	Ahead                 bool
}

func (e errand) open() (backends.Store, error) {
	d := map[string]backends.Driver{"postgres": sqljobs.Postgres(), "sqlite": sqljobs.SQLite()}[e.Kind]
	c := backends.Config{Name: "app", Backend: d.NewBackend(), Sources: map[string]any{}, Folder: e.Folder,
		Env: func(name string) (string, bool) { dsn, ok := e.Env[name]; return dsn, ok }}
	if err := decode(e.Section, c.Backend); err != nil {
		return nil, err
	}
	for name, queue := range e.Queues {
		c.Sources[name] = &sqljobs.Source{Queue: queue}
	}
	return d.Open(c)
}

// steps is how many steps there are, at least.
func (e errand) steps() int {
	if e.Ahead {
		return aheadSteps
	}
	return killedSteps
}

func executor(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var e errand
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	st, err := e.open()
	if err != nil {
		return err
	}
	defer st.Close()
	var j backends.Journal = &remote{out: json.NewEncoder(os.Stdout), in: bufio.NewReader(os.Stdin)}
	if e.Ahead {
		j = remoteAhead{j.(*remote)}
	}
	return st.Redrive(context.Background(), backends.Order{Queue: "jobs", Attempts: "reset", Items: e.Items}, j)
}

// step is a call of the journal on its way to the test, which keeps the ledger.
type step struct {
	Kind     string
	N        int
	Ticket   string
	Ns       []int
	Outcomes []backends.Outcome
}

// remote is the journal of an executor. A step is over when the test says so.
type remote struct {
	out *json.Encoder
	in  *bufio.Reader
}

func (r *remote) call(s step) error {
	for i := range s.Outcomes {
		s.Outcomes[i].Cause = nil
	}
	if err := r.out.Encode(s); err != nil {
		return err
	}
	_, err := r.in.ReadString('\n')
	return err
}

func (r *remote) Admit(_ context.Context, n int) (int, error) {
	return min(n, killedBatch), r.call(step{Kind: "admit", N: n})
}

func (r *remote) Intend(_ context.Context, ticket string, ns ...int) error {
	return r.call(step{Kind: "intend", Ticket: ticket, Ns: ns})
}

func (r *remote) Record(_ context.Context, os ...backends.Outcome) error {
	return r.call(step{Kind: "record", Outcomes: os})
}

// remoteAhead lets batches be prepared ahead, which is no step.
type remoteAhead struct{ *remote }

func (r remoteAhead) AdmitAhead(_ context.Context, n int) (int, error) {
	return min(n, killedBatch), nil
}

func (r remoteAhead) Turn(_ context.Context, before []backends.Outcome, ticket string, ns ...int) error {
	return r.call(step{Kind: "turn", Ticket: ticket, Ns: ns, Outcomes: before})
}

const (
	killedJobs  = 12
	killedBatch = 4
	killedSteps = 3 * killedJobs / killedBatch // of a whole redrive
	aheadSteps  = killedJobs/killedBatch + 1   // at least, of one that goes ahead
)

// moments of a step at which the executor is killed: the ledger does not know
// of the step yet; it knows, but the executor never hears of it; the executor
// goes on and is killed with whatever it does next.
const (
	unheard = iota
	unanswered
	running
	moments
)

// book is the ledger of a redrive whose executor may die.
type book struct {
	ledger
	tickets map[int]string // item -> ticket of an intent without an outcome
}

func (b *book) note(s step) {
	for _, o := range s.Outcomes {
		delete(b.tickets, o.N)
	}
	b.Record(context.Background(), s.Outcomes...)
	for _, n := range s.Ns {
		b.tickets[n] = s.Ticket
	}
}

// run starts an executor and kills it at a step. It reports how many steps
// there were.
func (b *book) run(t *testing.T, e errand, at, moment int) (steps int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "errand.json")
	raw, err := json.Marshal(e)
	must(t, err)
	must(t, os.WriteFile(path, raw, 0o600))
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "REDRIVE_TEST_EXECUTOR="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	dec := json.NewDecoder(out)
	for {
		var s step
		if err := dec.Decode(&s); err != nil {
			t.Fatalf("the executor ended by itself after %d steps: %v", steps, err)
		}
		if steps < at || moment != unheard {
			b.note(s)
		}
		if steps < at || moment == running {
			_, err := io.WriteString(in, "go\n")
			must(t, err)
		}
		if steps == at {
			break
		}
		steps++
	}
	must(t, cmd.Process.Kill())
	// What it said before it died is not in the ledger: nobody answered.
	if err := cmd.Wait(); err == nil && at < e.steps()-1 {
		t.Errorf("the executor was not killed")
	}
	return steps
}

// killed kills executors by SIGKILL at steps of a journal, and lets the test
// itself settle and finish what they left: every job runs exactly once.
func killed(t *testing.T, e errand, kill func(n int), ready func() int) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for round := range 6 {
		at, moment := rnd.IntN(e.steps()), round%moments
		kill(killedJobs)
		st, err := e.open()
		must(t, err)
		items := jobItems(t, st)
		e.Items = items
		b := &book{tickets: map[int]string{}}
		b.run(t, e, at, moment)
		var in []backends.Doubt
		for n, ticket := range b.tickets {
			in = append(in, backends.Doubt{Item: items[n], Ticket: ticket, State: backends.Intended})
		}
		must(t, settle(t, st, in, b))
		must(t, finish(t, st, items, b))
		st.Close()
		for n := range items {
			if o := b.outcomes[n]; o.State != backends.Done {
				t.Errorf("item %d ended as %s (%s)", n, o.State, o.Code)
			}
		}
		if got := ready(); got != killedJobs {
			t.Errorf("%d of %d jobs are to run", got, killedJobs)
		}
		if t.Failed() {
			t.Fatalf("killed at step %d, moment %d", at, moment)
		}
	}
}

// finish sends what is not sent. A batch that was prepared ahead is locked before
// it is intended, so the server may still hold rows for the session whose client
// was killed: they are busy, and asked for again.
func finish(t *testing.T, st backends.Store, items []backends.Item, b *book) error {
	for {
		var rest []backends.Item
		for n, it := range items {
			if o, ok := b.outcomes[n]; !ok || o.State == backends.Claimed || o.Code == backends.Busy {
				rest = append(rest, it)
			}
		}
		if len(rest) == 0 {
			return nil
		}
		if err := st.Redrive(t.Context(), backends.Order{Queue: "jobs", Attempts: "reset", Items: rest}, b); err != nil {
			return err
		}
	}
}

// settle resolves doubts. The server may still hold the locks of a session
// whose client was killed; then it says busy, and is asked again.
func settle(t *testing.T, st backends.Store, in []backends.Doubt, j backends.Journal) error {
	for {
		err := st.Resolve(t.Context(), "jobs", in, j)
		if backends.CodeOf(err) != backends.Busy {
			return err
		}
	}
}

func TestKilledPostgres(t *testing.T) {
	t.Parallel()
	s := newSchema(t)
	// A run is one entry of the list: a job that ran twice would have two.
	s.exec(t, jobDDL+`CREATE TABLE ran (id int); CREATE FUNCTION ran() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN EXECUTE format(''INSERT INTO %I.ran VALUES ($1)'', TG_TABLE_SCHEMA) USING NEW.id; RETURN NEW; END';
		CREATE TRIGGER ran AFTER UPDATE ON j FOR EACH ROW EXECUTE FUNCTION ran()`)
	read, _ := s.env("READ_DSN")
	write, _ := s.env("WRITE_DSN")
	e := errand{Kind: "postgres", Section: s.fill("read_env: READ_DSN\nwrite_env: WRITE_DSN\n" + jobMapping), Queues: map[string]string{"jobs": "default"},
		Env: map[string]string{"READ_DSN": read, "WRITE_DSN": write}}
	for _, e.Ahead = range []bool{false, true} {
		killed(t, e, func(n int) {
			s.exec(t, "DELETE FROM j")
			s.exec(t, "DELETE FROM ran")
			s.exec(t, "INSERT INTO j (id) SELECT generate_series(1, $1::int)", n)
		},
			func() (n int) {
				return int(s.exec(t, "SELECT id FROM ran GROUP BY id HAVING count(*) = 1 AND id IN (SELECT id FROM j WHERE status = 'queued')"))
			})
	}
}

func TestKilledSQLite(t *testing.T) {
	t.Parallel()
	f := newFile(t, sqliteDDL+`CREATE TABLE ran (id INTEGER); CREATE TRIGGER ran AFTER UPDATE ON jobs BEGIN INSERT INTO ran VALUES (NEW.id); END;`)
	e := errand{Kind: "sqlite", Section: sqliteMapping, Queues: map[string]string{"jobs": "default"}, Folder: filepath.Dir(f.path)}
	killed(t, e, func(n int) {
		f.exec(t, "DELETE FROM jobs")
		f.exec(t, "DELETE FROM ran")
		f.exec(t, `WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < ?) INSERT INTO jobs (id, queue, payload, status, attempts, max_attempts, created_at, failed_at)
			SELECT i, 'default', '{}', 'failed', 3, 3, '2026-01-02', '2026-01-02' FROM k`, n)
	}, func() int {
		return len(f.jobs(t, "SELECT id, '' FROM ran GROUP BY id HAVING count(*) = 1 AND id IN (SELECT id FROM jobs WHERE status = 'queued')"))
	})
}
